#pragma once

#include <string>

#include "app/task_recipe.h"
#include "app/training_plan.h"
#include "train/engine/task.h"

namespace quest::app {

// Measures the memory of a pass forward and backward on an eighth and a quarter of a batch; trains nothing.
[[nodiscard]] TrainingPlan plan_of(train::Task& task, const train::Recipe& recipe, const std::string& recipe_name,
                                   const train::Communicator& processes);

[[nodiscard]] std::int64_t parameter_count(const torch::nn::Module& model);

// What the checkpoints of a run take at most, the one being written included.
[[nodiscard]] std::uintmax_t checkpoint_bytes(train::Task& task, const train::Recipe& recipe);

}  // namespace quest::app
