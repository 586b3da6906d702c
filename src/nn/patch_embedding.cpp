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

ConvolutionalPatchEmbeddingImpl::ConvolutionalPatchEmbeddingImpl(const PatchEmbeddingOptions& given) : options(given) {
  reset();
}

void ConvolutionalPatchEmbeddingImpl::reset() {
  const std::int64_t dim = options.dim();
  TORCH_CHECK(options.patch() == 12 || options.patch() == 16,
              "quest::nn: patches by three convolutions have 12 or 16 pixels a side, got ", options.patch(),
              "; use PatchEmbedding");
  TORCH_CHECK(dim % 4 == 0, "quest::nn: three convolutions lead to a quarter, a half and the whole of a width, got ",
              dim);
  const auto convolution = [](std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                              std::int64_t padding) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding));
  };
  const bool is_12 = options.patch() == 12;
  proj = register_module(
      "proj",
      torch::nn::Sequential(convolution(options.channels(), dim / 4, 7, 4, 3), torch::nn::ReLU(),
                            is_12 ? convolution(dim / 4, dim / 2, 3, 3, 0) : convolution(dim / 4, dim / 2, 3, 2, 1),
                            torch::nn::ReLU(), convolution(dim / 2, dim, 3, is_12 ? 1 : 2, 1)));
}

at::Tensor ConvolutionalPatchEmbeddingImpl::forward(const at::Tensor& images) {
  const std::int64_t patch = options.patch();
  TORCH_CHECK(images.dim() == 4 && images.size(1) == options.channels() && images.size(2) % patch == 0 &&
                  images.size(3) % patch == 0,
              "quest::nn: images must have shape [batch, ", options.channels(),
              ", height, width] with height and width multiples of the patch ", patch, ", got ", images.sizes());
  return proj->forward(images).flatten(2).transpose(1, 2);
}

double ConvolutionalPatchEmbeddingImpl::forward_flops(std::int64_t image_size) const {
  auto side = static_cast<double>(image_size);
  double flops = 0.0;
  for (const std::size_t i : {0, 2, 4}) {
    const auto& convolution = proj->at<torch::nn::Conv2dImpl>(i);
    side /= static_cast<double>((*convolution.options.stride())[0]);
    flops += 2 * side * side * static_cast<double>(convolution.weight.numel());
  }
  return flops;
}

}  // namespace quest::nn
