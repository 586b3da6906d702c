#pragma once

// A learned factor per channel on a residual branch.

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "quest/export.h"

namespace quest::nn {

class QUEST_API LayerScaleImpl : public torch::nn::Cloneable<LayerScaleImpl> {
 public:
  LayerScaleImpl(std::int64_t dim, double initial_value);

  void reset() override;
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;

  std::int64_t dim;
  double initial_value;
  at::Tensor gamma;
};

TORCH_MODULE(LayerScale);

}  // namespace quest::nn
