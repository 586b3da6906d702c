#pragma once

// Images of bytes become a batch of normalised floats, moved and mirrored at random where asked.

#include <cstdint>
#include <functional>
#include <span>

#include "base/random.h"
#include "data/batch.h"
#include "data/labelled_images.h"

namespace quest::data {

struct Augmentation {
  std::int64_t shift = 0;  // up to so many pixels each way; what comes in is black
  bool flip = false;       // every other image, left to right
};

// Of pixels from 0 to 1, in all channels.
struct PixelScale {
  float mean = 0.0F;
  float deviation = 1.0F;
};

// "inputs" [B, channels, height, width] float32 and "labels" [B] int64. `random` gives the generator of the batch's
// i-th image.
[[nodiscard]] Batch pixel_batch(const LabelledImages& from, std::span<const std::int64_t> samples,
                                const PixelScale& scale, const Augmentation& augmentation = {},
                                const std::function<base::Random(std::size_t)>& random = {});

}  // namespace quest::data
