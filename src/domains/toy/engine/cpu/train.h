#pragma once

// Trains models that share data and batch order, one per vector lane. A call is one task: calls are independent of each
// other, so any number of threads gives the same bits.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "domains/toy/engine/task_data.h"
#include "domains/toy/engine/training.h"

namespace quest::toy::engine::cpu {

// At most model_lanes() jobs. Nothing when should_stop, asked after every epoch, says so.
[[nodiscard]] std::optional<std::vector<engine::SweepResult>> train_together(const engine::SweepRecipe& recipe,
                                                                             const engine::Realization& data,
                                                                             std::span<const engine::SweepJob> jobs,
                                                                             const std::function<bool()>& should_stop);

}  // namespace quest::toy::engine::cpu
