#pragma once

// What a layer keeps whose formulation learns its gain: the same in every language, so that checkpoints load.

#include <limits>
#include <span>
#include <string_view>

#include "quest/formulation.h"

namespace quest::ops {

struct LearnedGain {
  GainAxes axes = GainAxes::none;
  std::span<const std::string_view> parameters;  // each [H or 1, D or 1]
  bool varies_by_head = false;
  bool varies_by_dim = false;
  bool is_exponential = false;  // the gain is the product of the parameters' exponentials; otherwise of the parameters
  double start = 1.0;           // of each parameter
  double most = std::numeric_limits<double>::infinity();  // what a larger parameter counts as
};

// One for each kind of axes but none.
[[nodiscard]] std::span<const LearnedGain> learned_gains();

}  // namespace quest::ops
