#pragma once

// Trains many models at once on a GPU: one block of threads per model, its weights in shared memory. A model's result
// does not depend on the others, and is the same to the last bit every time.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domains/toy/engine/task_data.h"
#include "domains/toy/engine/training.h"

namespace quest::toy::engine::cuda {

struct SweepTraining {
  engine::SweepRecipe recipe;
  const engine::Realization* data = nullptr;
  engine::SweepJob job;
};

// Why models of so many tokens cannot be trained on a GPU here; empty where they can.
[[nodiscard]] std::string sweep_obstacle(int tokens);

// The GPU's name and how many models it trains side by side.
struct SweepDevice {
  std::string name;
  int models_at_once = 0;
};
[[nodiscard]] SweepDevice sweep_device(int tokens);

// All trainings have the same numbers of tokens, epochs and samples of a batch. Nothing when should_stop, asked after
// every epoch, says so. Throws std::runtime_error when the GPU fails.
[[nodiscard]] std::optional<std::vector<engine::SweepResult>> train_together(std::span<const SweepTraining> trainings,
                                                                             const std::function<bool()>& should_stop);

}  // namespace quest::toy::engine::cuda
