#pragma once

// Images to tokens: every patch through one linear map.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>
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

// The same by three convolutions with ReLU between them, as in CrossViT: patches of 12 or of 16 pixels. The first takes
// every fourth pixel, the others the rest of the way; they see beyond their patch.
class QUEST_API ConvolutionalPatchEmbeddingImpl : public torch::nn::Cloneable<ConvolutionalPatchEmbeddingImpl> {
 public:
  ConvolutionalPatchEmbeddingImpl(std::int64_t channels, std::int64_t patch, std::int64_t dim)
      : ConvolutionalPatchEmbeddingImpl(PatchEmbeddingOptions(channels, patch, dim)) {}
  explicit ConvolutionalPatchEmbeddingImpl(const PatchEmbeddingOptions& options);

  void reset() override;
  at::Tensor forward(const at::Tensor& images);
  // Multiplications and additions of forward, per image of that side.
  [[nodiscard]] double forward_flops(std::int64_t image_size) const;

  PatchEmbeddingOptions options;
  torch::nn::Sequential proj{nullptr};
};

TORCH_MODULE(ConvolutionalPatchEmbedding);

}  // namespace quest::nn
