#pragma once

// What a training of the spurious-attention task leaves in runs.jsonl, and the names it has there.

#include <string_view>

#include "domains/toy/engine/training.h"
#include "domains/toy/outcome.h"
#include "train/run/packed_runs.h"

namespace quest::toy {

inline constexpr const char* kTrainAccuracy = "train_accuracy";
inline constexpr const char* kTestAccuracy = "test_accuracy";
inline constexpr const char* kBiasedKeyNorm = "biased_key_norm";
inline constexpr const char* kUnbiasedKeyNorm = "unbiased_key_norm";
inline constexpr const char* kOtherKeyNorm = "other_key_norm";

// The metric that is 1 for trainings with this outcome, and 0 for others.
[[nodiscard]] std::string_view metric_of(Outcome outcome);

[[nodiscard]] train::PackedResult packed_result(const engine::SweepResult& result);

}  // namespace quest::toy
