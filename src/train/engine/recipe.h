#pragma once

// A recipe: everything that decides what comes out of a training but the code. What belongs to the task alone (its
// model and data) is described by the task.

#include <cstdint>
#include <string>

#include "recipe/fields.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

namespace quest::train {

struct TrainOptions {
  std::int64_t epochs = 10;
  std::int64_t steps = 0;         // the length where not 0
  std::int64_t batch_size = 128;  // of one process and one pass backward
  std::int64_t accumulate = 1;    // passes backward per step
  std::string precision = "float32";
  std::string shard = "none";  // "optimizer": every process keeps its part of the optimiser's state
  double ema = 0.0;            // decay of the average of the weights; 0: none
  std::int64_t eval_every = 1;
  std::int64_t eval_steps = 0;
  std::int64_t patience = 0;  // evaluations
  std::int64_t checkpoint_every = 500;
  double checkpoint_seconds = 0.0;
  std::int64_t log_every = 10;
  std::int64_t monitor_every = 10;
};

struct Recipe {
  std::string task;
  std::uint64_t seed = 0;
  TrainOptions train;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
};

[[nodiscard]] std::int64_t total_steps(const TrainOptions& options, std::int64_t steps_per_epoch);

void describe(recipe::Fields& fields, TrainOptions& options);
void describe(recipe::Fields& fields, Recipe& recipe);

}  // namespace quest::train
