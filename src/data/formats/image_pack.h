#pragma once

// Image files end to end in one file, and a text beside it: one line an image, "offset length class". Needs no torch.

#include <cstdint>
#include <string_view>
#include <vector>

namespace quest::data {

struct PackedImage {
  std::string_view bytes;  // inside the pack
  std::int32_t label = 0;
};

// Throws FormatError with the number of the line.
[[nodiscard]] std::vector<PackedImage> parse_image_pack(std::string_view index, std::string_view pack,
                                                        std::int32_t classes);

}  // namespace quest::data
