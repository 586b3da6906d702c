#pragma once

// Batch normalisation over kernels for NVIDIA GPUs: float32 rows.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quest::nn {

struct GpuNormOptions {
  bool of_batch = false;    // else running_mean and running_var are the columns' moments
  at::Tensor running_mean;  // of_batch: moved, where they are defined
  at::Tensor running_var;
  double eps = 0.0;
  double momentum = 0.0;
  double dropout = 0.0;
  std::uint64_t dropout_seed = 0;
};

[[nodiscard]] bool has_gpu_batch_norm(const at::Tensor& x);

// At least one row. residual: undefined for the norm alone.
[[nodiscard]] at::Tensor gpu_batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                        const at::Tensor& residual, const GpuNormOptions& options);

}  // namespace quest::nn
