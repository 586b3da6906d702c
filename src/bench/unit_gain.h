#pragma once

#include <ATen/core/Tensor.h>

#include "bench/attention_shape.h"
#include "quest/formulation.h"

namespace quest::bench {

// Ones along the axes of the formulation's gain, so that every formulation can run; undefined where it has none.
[[nodiscard]] at::Tensor unit_gain(const Formulation& formulation, const AttentionShape& shape);

}  // namespace quest::bench
