#pragma once

// Vector code for geometric operations. In double, without fused multiplications: every instruction set gives the same
// bytes.

#include <cstdint>

#include "data/augment/geometry.h"

namespace quest::data::kernels {

// What vectors read and write behind the last byte of a picture.
inline constexpr std::int64_t kPixelPadding = 1;

// All pixels of a picture of three bytes a pixel, seen through the map; both have kPixelPadding behind them.
void transform_pixels(const std::uint8_t* from, std::int64_t height, std::int64_t width, const AffineMap& map,
                      const Color& outside, std::uint8_t* to);

}  // namespace quest::data::kernels
