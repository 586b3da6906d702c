#include "attention/normalize.h"

#include <ATen/TensorOperators.h>

namespace quest {
namespace {

at::Tensor largest_magnitude(const at::Tensor& x) { return x.detach().abs().amax(-1, /*keepdim=*/true); }

}  // namespace

at::Tensor unit_rows(const at::Tensor& x) {
  // x/‖x‖ does not change when x is scaled, so the scale that keeps the squares in range is a constant to autograd.
  const at::Tensor largest = largest_magnitude(x);
  const at::Tensor is_zero = largest.eq(0);
  const at::Tensor scaled = x / largest.masked_fill(is_zero, 1.0);
  const at::Tensor norm = scaled.square().sum(-1, /*keepdim=*/true).masked_fill(is_zero, 1.0).sqrt();
  return (scaled / norm).masked_fill(is_zero, 0.0);
}

at::Tensor row_norms(const at::Tensor& x) {
  const at::Tensor largest = largest_magnitude(x);
  const at::Tensor scaled = x / largest.masked_fill(largest.eq(0), 1.0);
  return (largest * scaled.square().sum(-1, /*keepdim=*/true).sqrt()).squeeze(-1);
}

}  // namespace quest
