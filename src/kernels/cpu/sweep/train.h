#pragma once

// Trains models that share data and batch order, one per vector lane. A call is one task: calls are independent of each
// other, so any number of threads gives the same bits.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/sweep/model.h"
#include "kernels/sweep/task_data.h"

namespace quest::kernels::cpu {

struct SweepRecipe {
  sweep::Model model;
  std::uint64_t seed = 0;
  std::uint64_t realization = 0;  // which data, and in which order
  int epochs = 50;
  int batch = 32;
};

// What differs between the models of a task.
struct SweepJob {
  double learning_rate = 1e-3;
  double weight_decay = 0.0;
  std::uint64_t initialization = 0;
};

struct EpochRecord {
  float loss = 0.0F;            // mean over the epoch, while training
  float train_accuracy = 0.0F;  // the same
  float test_accuracy = 0.0F;   // after the epoch, and so are the rest
  float biased_key_norm = 0.0F;
  float unbiased_key_norm = 0.0F;
  float other_key_norm = 0.0F;
  float query_norm = 0.0F;
  float entropy = 0.0F;
};

struct SweepResult {
  std::vector<EpochRecord> epochs;
  float train_accuracy = 0.0F;  // of the final weights
  float test_accuracy = 0.0F;
};

// The norms and the entropy of a record are means over this many training samples.
inline constexpr int kProbeSamples = 128;

// At most model_lanes() jobs. Nothing when should_stop, asked after every epoch, says so.
[[nodiscard]] std::optional<std::vector<SweepResult>> train_together(const SweepRecipe& recipe,
                                                                     const sweep::Realization& data,
                                                                     std::span<const SweepJob> jobs,
                                                                     const std::function<bool()>& should_stop);

}  // namespace quest::kernels::cpu
