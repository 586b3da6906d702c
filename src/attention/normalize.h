#pragma once

#include <ATen/core/Tensor.h>

namespace quest {

// Rows x/‖x‖ over the last dimension: exact from subnormal to huge rows, differentiable to any order, 0 with zero
// gradient for a zero row.
[[nodiscard]] at::Tensor unit_rows(const at::Tensor& x);

// ‖x‖ over the last dimension, without overflow or underflow on the way. Not for differentiation.
[[nodiscard]] at::Tensor row_norms(const at::Tensor& x);

}  // namespace quest
