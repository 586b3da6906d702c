#pragma once

// A picture as the readers of image files give it and augmentation takes it.

#include <cstdint>
#include <vector>

namespace quest::data {

struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> rgb;  // [height, width, 3]: rows from the top, red, green and blue of each pixel
};

}  // namespace quest::data
