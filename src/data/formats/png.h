#pragma once

// Pictures in PNG files. Needs no torch, but libpng: where the build did not find it, every call says so.

#include <string_view>

#include "data/formats/picture.h"

namespace quest::data {

[[nodiscard]] bool can_decode_png();

// Palettes and greys become RGB, of 16 bits the upper 8 stay, transparency is left out: what Pillow's convert("RGB")
// gives, but for grey of 16 bits, which Pillow cuts off at 255. Throws FormatError in libpng's words.
[[nodiscard]] Picture decode_png(std::string_view file);

}  // namespace quest::data
