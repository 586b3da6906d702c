#pragma once

// What a training is going to do, told before it does it.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "terminal/terminal.h"

namespace quest::app {

struct MemoryEstimate {  // bytes, of one process
  double weights = 0.0;
  double gradients = 0.0;
  double optimizer = 0.0;
  double average = 0.0;      // of the weights
  double activations = 0.0;  // the most that a pass forward and backward of one batch holds besides

  [[nodiscard]] double total() const { return weights + gradients + optimizer + average + activations; }
};

struct TrainingPlan {
  std::string task;
  std::string recipe;
  std::vector<std::pair<std::string, std::int64_t>> parts;  // of the model, with their parameters
  double forward_flop = 0.0;                                // per sample; 0: not known
  MemoryEstimate memory;
  std::int64_t samples = 0;
  std::int64_t step_samples = 0;  // of one step, over all processes
  std::int64_t steps_per_epoch = 0;
  std::int64_t steps = 0;
  std::function<double(std::int64_t step)> learning_rate;

  [[nodiscard]] double epochs() const { return static_cast<double>(steps) / static_cast<double>(steps_per_epoch); }
  [[nodiscard]] std::int64_t parameters() const;
};

[[nodiscard]] std::string plan_text(const TrainingPlan& plan, const terminal::TerminalStyle& style);
[[nodiscard]] std::string plan_json(const TrainingPlan& plan);

// "1,234,567"
[[nodiscard]] std::string grouped(std::int64_t number);
// "1.50 MiB"
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace quest::app
