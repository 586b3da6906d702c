#pragma once

// What DeiT-3 does to colours at random.

#include "base/random.h"
#include "data/formats/picture.h"

namespace quest::data {

// Brightness, contrast and saturation, each by a factor from 1 - strength (0 at least) to 1 + strength, in random
// order.
[[nodiscard]] Picture color_jittered(Picture picture, double strength, base::Random& random);

// 3-Augment: one of grey, solarised and blurred.
[[nodiscard]] Picture one_of_three(Picture picture, base::Random& random);

}  // namespace quest::data
