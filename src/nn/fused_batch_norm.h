#pragma once

// Batch normalisation over the CPU's vector kernels: float32 rows.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quest::nn {

// Of the columns of some rows, in float64: they are sums.
struct Moments {
  at::Tensor mean;
  at::Tensor variance;  // divided by the number of rows
};

[[nodiscard]] Moments column_moments(const at::Tensor& x);

struct FusedNorm {
  Moments moments;
  bool of_batch = false;  // the moments are those of the rows themselves and take part in the gradient
  double eps = 0.0;
  double dropout = 0.0;
  std::uint64_t dropout_seed = 0;
};

// residual: undefined for the norm alone.
[[nodiscard]] at::Tensor fused_batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                          const at::Tensor& residual, const FusedNorm& norm);

}  // namespace quest::nn
