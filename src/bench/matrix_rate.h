#pragma once

#include <ATen/core/Tensor.h>

namespace quest::bench {

// What a device reaches in the product of two large matrices, in FLOP per second: the peak that a model is compared
// with.
[[nodiscard]] double matrix_rate(at::Device device, at::ScalarType dtype);

}  // namespace quest::bench
