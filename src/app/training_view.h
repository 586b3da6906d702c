#pragma once

// A training as a person sees it: a bar with loss, learning rate, speed and time left on a terminal, plain lines when
// piped; evaluations and warnings stay on the screen.

#include <iosfwd>
#include <string>

#include "base/clock.h"
#include "terminal/progress.h"
#include "train/run/listener.h"

namespace quest::app {

class TrainingView : public train::TrainingListener {
 public:
  struct Options {
    bool terminal = false;
    double epochs = 1.0;                // of the whole training
    double peak_flop_per_second = 0.0;  // what all processes could do at most; 0: not known
    terminal::Progress::Clock clock = base::steady_seconds;
  };

  // Results go to `results`, the bar and warnings to `status`.
  TrainingView(std::ostream& results, std::ostream& status, const Options& options);

  void on_step(const train::StepReport& report) override;
  void on_evaluation(std::int64_t step, double epoch, const std::map<std::string, double>& metrics,
                     bool is_best) override;
  void on_message(const std::string& message) override;
  void on_end(const std::string& status) override;

 private:
  [[nodiscard]] std::string label(const train::StepReport& report) const;

  std::ostream& results_;
  std::ostream& status_;
  Options options_;
  double start_;
  terminal::Progress progress_;
  bool has_begun_ = false;
};

// "132 GFLOP/s (41 % of the peak)"; empty for an unknown rate.
[[nodiscard]] std::string flop_rate_text(double flop_per_second, double peak_flop_per_second);

// Four significant digits, short at any size: 0.4312, 0.00098, 9.8e-06.
[[nodiscard]] std::string short_number(double value);

}  // namespace quest::app
