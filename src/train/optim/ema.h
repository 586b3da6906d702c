#pragma once

#include "train/optim/flat_parameters.h"

namespace quest::train {

// An exponential moving average of the parameters of a model, starting from what they are.
class Ema {
 public:
  explicit Ema(FlatParameters& parameters);

  // average = decay · average + (1 - decay) · parameters
  void update(double decay);

  // Exchanges the average with the parameters of the model; a second call puts them back.
  void swap();

  // ema.<parameter>
  [[nodiscard]] NamedTensors state() const;
  void load_state(const NamedTensors& tensors);

 private:
  FlatParameters& parameters_;
  at::Tensor average_;
};

}  // namespace quest::train
