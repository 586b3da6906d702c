#pragma once

// The learning rate of every step of a training, as a function of the step.

#include <cstdint>
#include <optional>
#include <string>

#include "recipe/fields.h"

namespace quest::train {

struct ScheduleOptions {
  std::string name = "cosine";  // cosine, polynomial, one_cycle or constant
  // When the rate changes: every "step", every "epoch", or "late_epoch" as DeiT trains: epoch e has the rate of epoch
  // e - 1, so that the first rate lasts for two epochs.
  std::string every = "step";
  // Linear from warmup_lr to the base rate. Given in steps or in epochs, not both.
  std::int64_t warmup_steps = 0;
  double warmup_epochs = 0.0;
  double warmup_lr = 0.0;
  // true: what follows the warm-up starts at its beginning; false: it has been running since the first step, as in timm
  // and in language models.
  bool warmup_apart = true;
  double min_lr = 0.0;  // cosine and polynomial end here
  double power = 0.9;   // polynomial: (1 - progress)^power
  // one_cycle, as torch's OneCycleLR with cosine annealing; the base rate is its max_lr
  double pct_start = 0.3;
  double div_factor = 25.0;
  double final_div_factor = 1e4;
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
};

// Steps count from 0.
double learning_rate(const ScheduleOptions& options, double base_lr, std::int64_t step, std::int64_t total_steps,
                     std::int64_t steps_per_epoch);

// beta1 (sgd: momentum) of a step where the schedule moves it.
std::optional<double> scheduled_momentum(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps);

// The keys schedule.*
void describe(recipe::Fields& fields, ScheduleOptions& options);

}  // namespace quest::train
