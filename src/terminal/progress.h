#pragma once

// Tells a person how far a long command is: a line that is redrawn on a terminal, now and then a plain line when piped.

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace quest::terminal {

class Progress {
 public:
  using Clock = std::function<double()>;  // seconds since any fixed moment

  Progress(std::ostream& stream, bool terminal, Clock clock = base::steady_seconds, double seconds_between_lines = 2.0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What was done until now says nothing about the speed from now on: an earlier command did it, or it was slower.
  void start_at(double done);

  // `done` runs from 0 to 1 over the whole command.
  void update(double done, std::string_view label);

  // Takes the redrawn line away, so that results can be printed in its place.
  void clear();

 private:
  [[nodiscard]] std::string time_left(double done) const;

  std::ostream& stream_;
  bool terminal_;
  Clock clock_;
  double seconds_between_lines_;
  double start_;
  double last_shown_;
  double done_before_ = 0.0;
  bool line_is_drawn_ = false;
};

// Rounded up: 58.2 -> "59 s", 61 -> "1 min 1 s", 3700 -> "1 h 2 min".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace quest::terminal
