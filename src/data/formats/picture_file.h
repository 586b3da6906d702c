#pragma once

// A picture in a file of any format that is read. Needs no torch.

#include <cstdint>
#include <string_view>

#include "data/formats/picture.h"

namespace quest::data {

// JPEG or PNG, by the first bytes and not by the name: ImageNet has a PNG file that is called JPEG. `least_side` as in
// decode_jpeg; PNG is read whole. Throws FormatError, for other content with what it looks like.
[[nodiscard]] Picture decode_picture(std::string_view file, std::int64_t least_side = 0);

}  // namespace quest::data
