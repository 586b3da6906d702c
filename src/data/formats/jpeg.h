#pragma once

// Pictures in JPEG files. Needs no torch, but libjpeg: where the build did not find it, every call says so.

#include <cstdint>
#include <string_view>
#include <vector>

namespace quest::data {

struct JpegImage {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]: red, green and blue
};

[[nodiscard]] bool can_decode_jpeg();

// Throws FormatError in libjpeg's words, also for what it only warns of: a file that is cut off.
[[nodiscard]] JpegImage decode_jpeg(std::string_view file);

}  // namespace quest::data
