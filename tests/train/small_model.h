#pragma once

// A model of odd sizes, for what only needs parameters.

#include <torch/torch.h>

#include "train/optim/flat_parameters.h"
#include "train/optim/parameter_groups.h"

namespace quest::testing {

inline torch::nn::Sequential small_model(std::int64_t seed = 1) {
  torch::manual_seed(seed);
  return torch::nn::Sequential(torch::nn::Linear(5, 7), torch::nn::GELU(),
                               torch::nn::LayerNorm(torch::nn::LayerNormOptions({7})), torch::nn::Linear(7, 3));
}

// Decay on the matrices alone, as training has it.
inline train::FlatParameters flat(const torch::nn::Sequential& model, double weight_decay = 0.1) {
  return train::FlatParameters(train::parameter_groups(*model, {.weight_decay = weight_decay}));
}

}  // namespace quest::testing
