#pragma once

// A training step by the engine, without it, and by a PyTorch loop, taking turns in one process.

#include <functional>
#include <string>

#include "app/task_recipe.h"
#include "bench/step_report.h"

namespace quest::bench {

struct StepPlan {
  at::Device device = at::kCPU;
  int threads = 1;
  int steps = 10;          // of a turn
  int rounds = 15;         // turns of each
  int workers = 0;         // also measures the engine with so many threads that load ahead, where not 0
  double load_cost = 0.0;  // loading takes longer, by so many times what a bare pass forward and backward takes
  std::string python;
};

// `on_progress` hears from 0 to 1 how far it is. Where the task has no Python loop, or that fails, the times say why.
[[nodiscard]] StepTimes measure_steps(const app::TaskRecipe& recipe, const StepPlan& plan,
                                      const std::function<void(double)>& on_progress);

}  // namespace quest::bench
