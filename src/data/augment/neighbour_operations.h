#pragma once

// What gives every pixel a value from pixels around it. Byte for byte as Pillow's ImageFilter and ImageEnhance do it.

#include "data/formats/picture.h"

namespace quest::data {

// From the picture smoothed (0) over the picture (1) to beyond.
[[nodiscard]] Picture with_sharpness(Picture picture, double factor);

// Three averages over boxes in each direction, which together are near a Gaussian of this standard deviation.
[[nodiscard]] Picture gaussian_blurred(const Picture& picture, double radius);

}  // namespace quest::data
