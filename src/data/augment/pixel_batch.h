#pragma once

// Grey images of bytes become a batch of normalised floats, moved and mirrored at random where asked.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "data/sets/fashion_mnist.h"

namespace quest::data {

struct Augmentation {
  std::int64_t shift = 0;  // up to so many pixels each way; what comes in is black
  bool flip = false;       // every other image, left to right
};

// Of pixels from 0 to 1.
struct PixelScale {
  float mean = 0.0F;
  float deviation = 1.0F;
};

struct PixelBatch {
  at::Tensor images;  // [B, 1, side, side] float32
  at::Tensor labels;  // [B] int64
};

// Random numbers come from torch's CPU generator.
[[nodiscard]] PixelBatch pixel_batch(const LabelledImages& from, std::span<const std::int64_t> samples,
                                     const Augmentation& augmentation, const PixelScale& scale);

}  // namespace quest::data
