#pragma once

// Pictures in JPEG files. Needs no torch, but libjpeg: where the build did not find it, every call says so.

#include <cstdint>
#include <string_view>

#include "data/formats/picture.h"

namespace quest::data {

[[nodiscard]] bool can_decode_jpeg();

// At the smallest of the scales 1/8, 1/4, 1/2 and 1 at which no side is shorter than `least_side`, which costs less
// than to decode the whole and to shrink it; 0 asks for the whole picture. Grey and CMYK become RGB as in Pillow.
// Throws FormatError in libjpeg's words, also for what it only warns of where part of the picture is lost: a file that
// is cut off.
[[nodiscard]] Picture decode_jpeg(std::string_view file, std::int64_t least_side = 0);

}  // namespace quest::data
