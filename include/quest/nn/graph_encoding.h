#pragma once

// What the nodes and edges of a graph are before the first layer: their features, and where a node stands in its graph.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "quest/nn/batch_norm.h"

namespace quest::nn {

struct FeatureEncoderOptions {
  explicit FeatureEncoderOptions(std::int64_t dim) : dim_(dim) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::vector<std::int64_t>, categories);  // of each categorical feature
  TORCH_ARG(std::int64_t, values) = 0;               // continuous features; one of the two kinds, or neither
};

// The sum of an embedding of each categorical feature, or a linear layer over the continuous ones, or, where there are
// no features, one learned vector for all.
class QUEST_API FeatureEncoderImpl : public torch::nn::Cloneable<FeatureEncoderImpl> {
 public:
  explicit FeatureEncoderImpl(const FeatureEncoderOptions& options);

  void reset() override;
  // ids [rows, features] int64 or values [rows, features], as the options say -> [rows, dim]
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& values, std::int64_t rows);

  FeatureEncoderOptions options;
  at::Tensor table;  // [Σ categories, dim]: the embeddings of one feature below those of the one before
  at::Tensor vector;
  torch::nn::Linear linear{nullptr};

 private:
  at::Tensor embed(const at::Tensor& ids, std::int64_t rows);

  at::Tensor first_rows_;       // [features], of the table
  at::Tensor category_counts_;  // [features]
};

TORCH_MODULE(FeatureEncoder);

struct LaplacianEncoderOptions {
  explicit LaplacianEncoderOptions(std::int64_t dim) : dim_(dim) {}

  TORCH_ARG(std::int64_t, dim);
};

// Laplacian eigenvectors and eigenvalues as positions: an MLP of every pair (vector's value at the node, eigenvalue),
// summed over the pairs. In training each frequency gets a random sign, the same for all graphs of a batch.
class QUEST_API LaplacianEncoderImpl : public torch::nn::Cloneable<LaplacianEncoderImpl> {
 public:
  explicit LaplacianEncoderImpl(const LaplacianEncoderOptions& options);

  void reset() override;
  // [nodes, terms] both; pairs with a NaN do not exist -> [nodes, dim]
  at::Tensor forward(const at::Tensor& vectors, const at::Tensor& values);

  LaplacianEncoderOptions options;
  torch::nn::Linear fc1{nullptr};
  torch::nn::Linear fc2{nullptr};
};

TORCH_MODULE(LaplacianEncoder);

struct RandomWalkEncoderOptions {
  RandomWalkEncoderOptions(std::int64_t terms, std::int64_t dim) : terms_(terms), dim_(dim) {}

  TORCH_ARG(std::int64_t, terms);
  TORCH_ARG(std::int64_t, dim);
};

// The probabilities that a random walk is back after 1, 2, … steps as positions: normalised, then a linear layer.
class QUEST_API RandomWalkEncoderImpl : public torch::nn::Cloneable<RandomWalkEncoderImpl> {
 public:
  explicit RandomWalkEncoderImpl(const RandomWalkEncoderOptions& options);

  void reset() override;
  // [nodes, terms] -> [nodes, dim]
  at::Tensor forward(const at::Tensor& returns);

  RandomWalkEncoderOptions options;
  BatchNorm norm{nullptr};
  torch::nn::Linear linear{nullptr};
};

TORCH_MODULE(RandomWalkEncoder);

}  // namespace quest::nn
