#pragma once

// A training of the spurious-attention task, as every sweep engine takes it, and what it leaves.

#include <cstdint>
#include <vector>

#include "domains/toy/engine/model.h"

namespace quest::toy::engine {

struct SweepRecipe {
  Model model;
  std::uint64_t seed = 0;
  std::uint64_t realization = 0;  // which data, and in which order
  int epochs = 50;
  int batch = 32;
};

// What differs between models that share data and batch order.
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

}  // namespace quest::toy::engine
