#pragma once

// Batch normalisation of rows, and the residual branch that ends in it as one pass over them.

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "quest/export.h"

namespace quest::nn {

struct BatchNormOptions {
  BatchNormOptions(std::int64_t dim) : dim_(dim) {}  // NOLINT(google-explicit-constructor)

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(double, eps) = 1e-5;
  TORCH_ARG(double, momentum) = 0.1;
};

// torch::nn::BatchNorm1d without a count of batches. Fewer than two rows leave the running statistics as they are, for
// they have no variance.
class QUEST_API BatchNormImpl : public torch::nn::Cloneable<BatchNormImpl> {
 public:
  explicit BatchNormImpl(const BatchNormOptions& options);

  void reset() override;
  // [N, dim] -> [N, dim]
  at::Tensor forward(const at::Tensor& x);
  // residual + dropout(relu(forward(x))), with dropout in training only
  at::Tensor forward_branch(const at::Tensor& x, const at::Tensor& residual, double dropout);

  BatchNormOptions options;
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;

 private:
  at::Tensor run(const at::Tensor& x, const at::Tensor& residual, double dropout);
};

TORCH_MODULE(BatchNorm);

}  // namespace quest::nn
