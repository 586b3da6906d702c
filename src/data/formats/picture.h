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

// A few bytes of a file can claim any size: readers throw FormatError for more than 2^26 pixels before they ask for
// memory, and for none.
void require_pixels(std::int64_t height, std::int64_t width);

}  // namespace quest::data
