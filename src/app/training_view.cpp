#include "app/training_view.h"

#include <array>
#include <cstdio>
#include <ostream>

#include "terminal/table.h"

namespace quest::app {
namespace {

constexpr double kSecondsBetweenLines = 10.0;

}  // namespace

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string flop_rate_text(double flop_per_second, double peak_flop_per_second) {
  if (flop_per_second <= 0.0) return "";
  std::string text = flop_per_second < 1e12 ? terminal::three_digits(flop_per_second / 1e9) + " GFLOP/s"
                                            : terminal::three_digits(flop_per_second / 1e12) + " TFLOP/s";
  if (peak_flop_per_second > 0.0) {
    text += " (" + terminal::fixed(100.0 * flop_per_second / peak_flop_per_second, 0) + " % of the peak)";
  }
  return text;
}

TrainingView::TrainingView(std::ostream& results, std::ostream& status, const Options& options)
    : results_(results),
      status_(status),
      options_(options),
      start_(options.clock()),
      progress_(status, options.terminal, options.clock, kSecondsBetweenLines) {}

std::string TrainingView::label(const train::StepReport& report) const {
  std::string text = "epoch " + terminal::fixed(report.epoch, 1) + " of " + short_number(options_.epochs) + ", loss " +
                     short_number(report.loss) + ", lr " + short_number(report.lr) + ", " +
                     terminal::three_digits(report.samples_per_second) + " samples/s";
  if (const auto rate = flop_rate_text(report.flop_per_second, options_.peak_flop_per_second); !rate.empty()) {
    text += ", " + rate;
  }
  return text;
}

void TrainingView::on_step(const train::StepReport& report) {
  const auto total = static_cast<double>(report.total_steps);
  const double done = static_cast<double>(report.step) / total;
  if (!has_begun_) progress_.start_at(done);  // a resumed training begins anywhere
  has_begun_ = true;
  progress_.update(done, label(report));
}

void TrainingView::on_evaluation(std::int64_t step, double epoch, const std::map<std::string, double>& metrics,
                                 bool is_best) {
  progress_.clear();
  results_ << "epoch " << terminal::fixed(epoch, 1) << ", step " << step << ":";
  const char* separator = " ";
  for (const auto& [name, value] : metrics) {
    results_ << separator << name << " " << short_number(value);
    separator = ", ";
  }
  results_ << (is_best ? " (best)" : "") << "\n" << std::flush;
}

void TrainingView::on_message(const std::string& message) {
  progress_.clear();
  status_ << message << "\n" << std::flush;
}

void TrainingView::on_end(const std::string& status) {
  progress_.clear();
  results_ << status << " in " << terminal::duration_text(options_.clock() - start_) << "\n" << std::flush;
}

}  // namespace quest::app
