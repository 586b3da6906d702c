#pragma once

// Pictures seen through an affine map, with bicubic interpolation and a colour for what lies outside. Byte for byte as
// Pillow's transform and rotate do it.

#include <array>
#include <cstdint>

#include "data/formats/picture.h"

namespace quest::data {

using Color = std::array<std::uint8_t, 3>;

// The pixel at column x, row y is looked for at column xx · x + xy · y + x0, row yx · x + yy · y + y0 of the picture;
// the centre of the first pixel is at 0.5, 0.5.
struct AffineMap {
  double xx = 1.0, xy = 0.0, x0 = 0.0;
  double yx = 0.0, yy = 1.0, y0 = 0.0;
};

[[nodiscard]] Picture transformed(Picture picture, const AffineMap& map, const Color& outside);

// Against the clock about the centre.
[[nodiscard]] Picture rotated(Picture picture, double degrees, const Color& outside);

}  // namespace quest::data
