#pragma once

// Pictures of noise, which repeat themselves nowhere.

#include <cstdint>

#include "base/random.h"
#include "data/formats/picture.h"

namespace quest::testing {

inline data::Picture made_picture(std::int64_t height, std::int64_t width, std::uint64_t seed = 1) {
  data::Picture picture{height, width, {}};
  base::Random random(seed, {});
  for (std::int64_t i = 0; i < 3 * height * width; ++i) {
    picture.rgb.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  return picture;
}

}  // namespace quest::testing
