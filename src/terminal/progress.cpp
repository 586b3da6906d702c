#include "terminal/progress.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "terminal/table.h"

namespace quest::terminal {
namespace {

constexpr double kSecondsBetweenRedraws = 0.1;
constexpr int kBarCells = 24;
constexpr const char* kEraseLine = "\r\033[K";
// A line that the terminal would wrap could not be erased: what does not fit is cut off.
constexpr const char* kNoWrap = "\033[?7l";
constexpr const char* kWrap = "\033[?7h";

std::string bar(double done) {
  const int filled = static_cast<int>(std::lround(done * kBarCells));
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kBarCells - filled), '.') + "]";
}

}  // namespace

Progress::Progress(std::ostream& stream, bool terminal, Clock clock, double seconds_between_lines)
    : stream_(stream),
      terminal_(terminal),
      clock_(std::move(clock)),
      seconds_between_lines_(seconds_between_lines),
      start_(clock_()),
      last_shown_(start_) {}

Progress::~Progress() { clear(); }

std::string Progress::time_left(double done) const {
  if (done <= done_before_) return "";
  return ", about " + duration_text((clock_() - start_) * (1.0 - done) / (done - done_before_)) + " left";
}

void Progress::start_at(double done) {
  done_before_ = done;
  start_ = clock_();
}

void Progress::update(double done, std::string_view label) {
  done = std::clamp(done, 0.0, 1.0);
  if (clock_() - last_shown_ < (terminal_ ? kSecondsBetweenRedraws : seconds_between_lines_)) return;
  last_shown_ = clock_();
  const std::string status = fixed(100.0 * done, 0) + " %" + time_left(done) + ": " + std::string(label);
  if (terminal_) {
    stream_ << kEraseLine << kNoWrap << bar(done) << " " << status << kWrap << std::flush;
    line_is_drawn_ = true;
  } else {
    stream_ << status << '\n' << std::flush;
  }
}

void Progress::clear() {
  if (line_is_drawn_) stream_ << kEraseLine << std::flush;
  line_is_drawn_ = false;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  const long long minutes = (whole + 59) / 60;
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

}  // namespace quest::terminal
