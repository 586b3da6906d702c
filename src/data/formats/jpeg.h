#pragma once

// Pictures in JPEG files. Needs no torch, but libjpeg: where the build did not find it, every call says so.

#include <string_view>

#include "data/formats/picture.h"

namespace quest::data {

[[nodiscard]] bool can_decode_jpeg();

// Throws FormatError in libjpeg's words, also for what it only warns of: a file that is cut off.
[[nodiscard]] Picture decode_jpeg(std::string_view file);

}  // namespace quest::data
