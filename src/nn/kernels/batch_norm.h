#pragma once

// Batch normalisation of rows of floats, and the branch of a residual network that ends in it. Ranges of rows are
// tasks.

#include <cstdint>

namespace quest::nn::kernels {

// Sums are taken over so many rows at a time and then in the order of these blocks.
inline constexpr std::int64_t kNormBlock = 128;

// Means and sums of squared distances from them, of each column of at most kNormBlock rows.
void column_moments(const float* x, std::int64_t rows, std::int64_t dim, float* means, float* squares);

// to = y, or, where there is a residual, residual + dropout(relu(y)), with y = (x - mean) · scale + bias.
struct NormProblem {
  const float* x;      // [N, dim]
  const float* mean;   // [dim]
  const float* scale;  // [dim]
  const float* bias;   // [dim]
  std::int64_t dim;
  const float* residual;  // [N, dim] or nullptr
  float dropout;
  std::uint64_t dropout_seed;
};

void normalize(const NormProblem& problem, float* to, std::int64_t first_row, std::int64_t last_row);

// With g the gradient of y: Σ g and Σ g (x - mean), of each column of at most kNormBlock rows.
void norm_gradient_sums(const NormProblem& problem, const float* grad, std::int64_t first_row, std::int64_t last_row,
                        float* sums, float* products);

// grad_x = g · scale + (x - mean) · slope + offset
struct NormGradients {
  const float* grad;    // [N, dim], of the result
  const float* slope;   // [dim]
  const float* offset;  // [dim]
  float* grad_x;        // [N, dim]
};

void norm_gradients(const NormProblem& problem, const NormGradients& gradients, std::int64_t first_row,
                    std::int64_t last_row);

}  // namespace quest::nn::kernels
