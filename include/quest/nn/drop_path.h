#pragma once

// Stochastic depth.

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include "quest/export.h"

namespace quest::nn {

// In training drops the branch of a whole sample with probability p and divides the others by 1 - p.
class QUEST_API DropPathImpl : public torch::nn::Cloneable<DropPathImpl> {
 public:
  explicit DropPathImpl(double p);

  void reset() override {}
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;

  double p;
};

TORCH_MODULE(DropPath);

}  // namespace quest::nn
