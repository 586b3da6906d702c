#pragma once

// Image files end to end in one file, and a text beside it: one line an image, "offset length class sum name" and a
// line at the end, or "offset length class" alone. docs/image-data.md has the layout. Needs no torch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quest::data {

struct PackedImage {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::int32_t label = 0;
  std::optional<std::uint32_t> sum{};  // of its bytes
  std::string_view name{};             // inside the index; empty where it has no names
};

// CRC-32, as in gzip and PNG.
[[nodiscard]] std::uint32_t sum_of(std::string_view bytes, std::uint32_t before = 0);

// Throws FormatError with the number of the line; also for a text that is not as it was written, where it has sums.
[[nodiscard]] std::vector<PackedImage> parse_pack_index(std::string_view index, std::uint64_t pack_bytes,
                                                        std::int64_t classes);

// One line of an image. Throws FormatError without a number of the line.
[[nodiscard]] PackedImage parse_pack_line(std::string_view line, std::uint64_t pack_bytes, std::int64_t classes);

// Throws FormatError where the bytes are not those that were packed.
void check_sum(const PackedImage& image, std::string_view bytes);

// The line of an image that has a sum and a name. Throws FormatError for a name that does not fit into a line.
[[nodiscard]] std::string pack_line(const PackedImage& image);
// The last line.
[[nodiscard]] std::string pack_end(std::size_t images, std::uint32_t sum_of_lines);

}  // namespace quest::data
