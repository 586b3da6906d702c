#pragma once

// Trains models that share data and batch order, one per vector lane. A call is one task: calls are independent of each
// other, so any number of threads gives the same bits.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/sweep/task_data.h"
#include "kernels/sweep/training.h"

namespace quest::kernels::cpu {

// At most model_lanes() jobs. Nothing when should_stop, asked after every epoch, says so.
[[nodiscard]] std::optional<std::vector<sweep::SweepResult>> train_together(const sweep::SweepRecipe& recipe,
                                                                            const sweep::Realization& data,
                                                                            std::span<const sweep::SweepJob> jobs,
                                                                            const std::function<bool()>& should_stop);

}  // namespace quest::kernels::cpu
