#pragma once

// What is done to every pixel by itself, given at most the histogram of the picture. Byte for byte as Pillow's ImageOps
// and ImageEnhance do it.

#include <cstdint>

#include "data/formats/picture.h"

namespace quest::data {

// Each channel stretched so that its darkest value becomes 0 and its brightest 255.
[[nodiscard]] Picture auto_contrast(Picture picture);
// Each channel mapped so that its values come about equally often.
[[nodiscard]] Picture equalized(Picture picture);
[[nodiscard]] Picture inverted(Picture picture);
// The `bits` most significant bits of each value, 0 to 8.
[[nodiscard]] Picture posterized(Picture picture, int bits);
// Values from the threshold on are inverted.
[[nodiscard]] Picture solarized(Picture picture, int threshold);
// Values below 128 grow by `added`.
[[nodiscard]] Picture solarized_by_adding(Picture picture, int added);

// From black (0) over the picture (1) to beyond.
[[nodiscard]] Picture with_brightness(Picture picture, double factor);
// From the picture's mean grey (0) over the picture (1) to beyond.
[[nodiscard]] Picture with_contrast(Picture picture, double factor);
// From the picture in grey (0) over the picture (1) to beyond.
[[nodiscard]] Picture with_color(Picture picture, double factor);
[[nodiscard]] Picture in_grey(Picture picture);

}  // namespace quest::data
