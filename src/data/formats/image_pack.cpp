#include "data/formats/image_pack.h"

#include <algorithm>
#include <limits>
#include <string>

#include "data/formats/text_fields.h"

namespace quest::data {

std::vector<PackedImage> parse_image_pack(std::string_view index, std::string_view pack, std::int32_t classes) {
  constexpr std::size_t kColumns = 3;
  std::vector<PackedImage> images;
  for_each_line(index, [&](std::string_view line) {
    const auto columns = fields_of(line, ' ');
    if (columns.size() != kColumns) {
      throw FormatError("expected offset, length and class, found " + std::to_string(columns.size()) + " columns");
    }
    const auto size = static_cast<std::int64_t>(pack.size());
    const auto most = std::min<std::int64_t>(size, std::numeric_limits<std::int32_t>::max()) + 1;
    const std::int64_t offset = number_below(columns[0], most, "an offset");
    const std::int64_t length = number_below(columns[1], most, "a length");
    if (offset + length > size) {
      throw FormatError("expected an image inside the " + std::to_string(size) + " bytes of the pack, found one from " +
                        std::to_string(offset) + " to " + std::to_string(offset + length) + "; is the pack cut off?");
    }
    images.push_back({.bytes = pack.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)),
                      .label = number_below(columns[2], classes, "a class")});
  });
  return images;
}

}  // namespace quest::data
