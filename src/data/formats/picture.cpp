#include "data/formats/picture.h"

#include <string>

#include "data/formats/format_error.h"

namespace quest::data {

void require_pixels(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  if (height > 0 && width > 0 && height <= kMost / width) return;
  throw FormatError("expected a picture of 1 to " + std::to_string(kMost) + " pixels, found " + std::to_string(height) +
                    " x " + std::to_string(width));
}

}  // namespace quest::data
