#include "train/optim/ema.h"

#include <torch/torch.h>

namespace quest::train {

Ema::Ema(FlatParameters& parameters) : parameters_(parameters), average_(parameters.values().clone()) {}

void Ema::update(double decay) {
  const torch::NoGradGuard no_grad;
  average_.lerp_(parameters_.values(), 1.0 - decay);
}

void Ema::swap() {
  const torch::NoGradGuard no_grad;
  const at::Tensor parameters = parameters_.values().clone();
  parameters_.values().copy_(average_);
  average_.copy_(parameters);
}

NamedTensors Ema::state() const { return named_slices(parameters_, "ema", average_); }

void Ema::load_state(const NamedTensors& tensors) { load_named_slices(parameters_, "ema", tensors, average_); }

}  // namespace quest::train
