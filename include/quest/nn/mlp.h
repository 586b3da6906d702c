#pragma once

// The two layers after attention, with an activation between them.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "quest/export.h"

namespace quest::nn {

enum class Activation {
  gelu,  // the exact one
  relu,
};

struct MlpOptions {
  MlpOptions(std::int64_t dim, std::int64_t hidden) : dim_(dim), hidden_(hidden) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::int64_t, hidden);
  TORCH_ARG(Activation, activation) = Activation::gelu;
  TORCH_ARG(double, dropout) = 0.0;  // after each layer
};

class QUEST_API MlpImpl : public torch::nn::Cloneable<MlpImpl> {
 public:
  MlpImpl(std::int64_t dim, std::int64_t hidden) : MlpImpl(MlpOptions(dim, hidden)) {}
  explicit MlpImpl(const MlpOptions& options);

  void reset() override;
  at::Tensor forward(const at::Tensor& x);

  MlpOptions options;
  torch::nn::Linear fc1{nullptr};
  torch::nn::Linear fc2{nullptr};
  torch::nn::Dropout drop{nullptr};
};

TORCH_MODULE(Mlp);

}  // namespace quest::nn
