#include "quest/nn/position_embedding.h"

#include <ATen/Functions.h>

#include <cmath>

namespace quest::nn {

at::Tensor resize_position_embedding(const at::Tensor& embedding, std::int64_t prefix, Grid grid) {
  TORCH_CHECK(embedding.dim() == 3 && embedding.size(0) == 1 && embedding.size(1) > prefix,
              "quest::nn: a position embedding must have shape [1, ", prefix, " + patches, width], got ",
              embedding.sizes());
  const std::int64_t patches = embedding.size(1) - prefix;
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(patches))));
  TORCH_CHECK(side * side == patches, "quest::nn: only positions of a square grid can be resized, got ", patches,
              " patches after ", prefix, " other tokens");
  if (side == grid.rows && side == grid.columns) {
    return embedding;
  }
  const at::Tensor image = embedding.narrow(1, prefix, patches).transpose(1, 2).reshape({1, -1, side, side});
  const at::Tensor resized =
      at::upsample_bicubic2d(image.to(at::kFloat), {grid.rows, grid.columns}, /*align_corners=*/false);
  const at::Tensor tokens = resized.flatten(2).transpose(1, 2).to(embedding.scalar_type());
  return at::cat({embedding.narrow(1, 0, prefix), tokens}, 1);
}

}  // namespace quest::nn
