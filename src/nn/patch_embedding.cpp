#include "quest/nn/patch_embedding.h"

#include <torch/torch.h>

namespace quest::nn {

PatchEmbeddingImpl::PatchEmbeddingImpl(const PatchEmbeddingOptions& given) : options(given) { reset(); }

void PatchEmbeddingImpl::reset() {
  proj = register_module(
      "proj",
      torch::nn::Conv2d(
          torch::nn::Conv2dOptions(options.channels(), options.dim(), options.patch()).stride(options.patch())));
}

at::Tensor PatchEmbeddingImpl::forward(const at::Tensor& images) {
  const std::int64_t patch = options.patch();
  TORCH_CHECK(
      images.dim() == 4 && images.size(1) == options.channels() && images.size(2) >= patch && images.size(3) >= patch,
      "quest::nn: images must have shape [batch, ", options.channels(),
      ", height, width] with height and width at least the patch ", patch, ", got ", images.sizes());
  const std::int64_t rows = images.size(2) / patch;
  const std::int64_t columns = images.size(3) / patch;
  // Patches do not overlap, so the convolution is a product, and its result needs no transposing into tokens.
  const at::Tensor whole = images.narrow(2, 0, rows * patch).narrow(3, 0, columns * patch);
  const at::Tensor patches = whole.reshape({images.size(0), images.size(1), rows, patch, columns, patch})
                                 .permute({0, 2, 4, 1, 3, 5})
                                 .reshape({images.size(0), rows * columns, images.size(1) * patch * patch});
  return at::linear(patches, proj->weight.flatten(1), proj->bias);
}

}  // namespace quest::nn
