#pragma once

// Images to tokens: every patch through one linear map.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "quest/export.h"

namespace quest::nn {

struct PatchEmbeddingOptions {
  PatchEmbeddingOptions(std::int64_t channels, std::int64_t patch, std::int64_t dim)
      : channels_(channels), patch_(patch), dim_(dim) {}

  TORCH_ARG(std::int64_t, channels);
  TORCH_ARG(std::int64_t, patch);
  TORCH_ARG(std::int64_t, dim);
};

// [B, channels, height, width] -> [B, patches, dim], row by row; pixels that fill no patch are not read. `proj` holds
// the weights of the convolution that this is, in its shape and with its initial values.
class QUEST_API PatchEmbeddingImpl : public torch::nn::Cloneable<PatchEmbeddingImpl> {
 public:
  PatchEmbeddingImpl(std::int64_t channels, std::int64_t patch, std::int64_t dim)
      : PatchEmbeddingImpl(PatchEmbeddingOptions(channels, patch, dim)) {}
  explicit PatchEmbeddingImpl(const PatchEmbeddingOptions& options);

  void reset() override;
  at::Tensor forward(const at::Tensor& images);

  PatchEmbeddingOptions options;
  torch::nn::Conv2d proj{nullptr};
};

TORCH_MODULE(PatchEmbedding);

}  // namespace quest::nn
