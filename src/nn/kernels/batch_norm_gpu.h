#pragma once

// The batch normalisation of batch_norm.h on NVIDIA GPUs: pointers lead into the GPU's memory, and the work is queued
// on a stream, a cudaStream_t. Sums are taken in float64, over blocks of rows and then in the order of these blocks.

#include <cstdint>

#include "nn/kernels/batch_norm.h"

namespace quest::nn::kernels {

// float64 numbers that the sums over so many rows take between two kernels.
[[nodiscard]] std::int64_t norm_workspace(std::int64_t rows, std::int64_t dim);

// Of the columns of some rows, [dim] each.
struct ColumnStatistics {
  const float* weight;
  double eps;
  double momentum;
  float* running_mean;  // both move by the momentum; nullptr: there are none
  float* running_variance;
  float* mean;     // results
  float* inverse;  // 1 / sqrt(variance + eps)
  float* scale;    // weight · inverse
};

// What NormGradients needs of the rows, and the gradients of weight and bias, [dim] each.
struct NormSums {
  const float* inverse;
  bool of_batch;  // whether mean and inverse are those of the rows themselves
  float* slope;   // results
  float* offset;
  float* grad_weight;
  float* grad_bias;
};

struct GpuNorm {
  void (*statistics)(const float* x, std::int64_t rows, std::int64_t dim, double* workspace,
                     const ColumnStatistics& columns, void* stream);
  void (*normalize)(const NormProblem& problem, float* to, std::int64_t rows, void* stream);
  void (*gradient_sums)(const NormProblem& problem, const float* grad, std::int64_t rows, double* workspace,
                        const NormSums& sums, void* stream);
  void (*gradients)(const NormProblem& problem, const NormGradients& gradients, std::int64_t rows, void* stream);
};

// Null where the library was built without CUDA. What cannot be queued throws std::runtime_error with CUDA's reason.
[[nodiscard]] const GpuNorm* gpu_norm();

}  // namespace quest::nn::kernels
