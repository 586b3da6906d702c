#pragma once

// Learned positions of a grid of patches, for another grid.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "quest/export.h"

namespace quest::nn {

struct Grid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// embedding [1, prefix + n², C] of a square grid -> [1, prefix + rows · columns, C] by bicubic interpolation,
// not antialiased; the embeddings of the prefix (class and distillation tokens) stay.
[[nodiscard]] QUEST_API at::Tensor resize_position_embedding(const at::Tensor& embedding, std::int64_t prefix,
                                                             Grid grid);

}  // namespace quest::nn
