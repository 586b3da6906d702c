#include "data/formats/image_pack.h"

#include <zlib.h>

#include <array>
#include <charconv>
#include <limits>

#include "data/formats/text_fields.h"

namespace quest::data {
namespace {

constexpr std::string_view kEnd = "end ";
constexpr std::size_t kNumbers = 3;

std::string hexadecimal(std::uint32_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[number >> shift & 15U];
  return text;
}

std::uint32_t sum_in(std::string_view text) {
  std::uint32_t sum = 0;
  const auto [rest, error] = std::from_chars(text.begin(), text.end(), sum, 16);
  if (text.size() != 8 || error != std::errc() || rest != text.end()) {
    throw FormatError("expected a sum of 8 hexadecimal digits, found " + in_quotes(text));
  }
  return sum;
}

// Words that a space parts; the last one is what is left of the line.
struct Columns {
  std::array<std::string_view, kNumbers + 2> words{};
  std::size_t count = 0;
};

Columns columns_of(std::string_view line) {
  Columns columns;
  while (!line.empty() && columns.count + 1 < columns.words.size()) {
    const auto end = std::min(line.find(' '), line.size());
    columns.words[columns.count++] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  if (!line.empty()) columns.words[columns.count++] = line;
  return columns;
}

void check_end(std::string_view line, std::string_view lines, std::size_t images) {
  const auto expected = pack_end(images, sum_of(lines));
  if (std::string(line) + "\n" == expected) return;
  throw FormatError("expected " + in_quotes(expected.substr(0, expected.size() - 1)) + ", found " + in_quotes(line) +
                    "; the index is not as it was written: pack the images again, or copy it again");
}

}  // namespace

std::uint32_t sum_of(std::string_view bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

PackedImage parse_pack_line(std::string_view line, std::uint64_t pack_bytes, std::int64_t classes) {
  const auto columns = columns_of(line);
  const auto& words = columns.words;
  if (columns.count != kNumbers && columns.count != words.size()) {
    throw FormatError("expected offset, length and class, or these and a sum and a name, found " +
                      std::to_string(columns.count) + " columns");
  }
  const auto size = static_cast<std::int64_t>(pack_bytes);
  const std::int64_t offset = large_number_below(words[0], size + 1, "an offset");
  const std::int64_t length = number_below(words[1], std::int64_t{1} << 31, "a length");
  if (length > size - offset) {
    throw FormatError("expected an image inside the " + std::to_string(size) + " bytes of the pack, found one from " +
                      std::to_string(offset) + " to " + std::to_string(offset + length) + "; is the pack cut off?");
  }
  PackedImage image{.offset = static_cast<std::uint64_t>(offset),
                    .length = static_cast<std::uint32_t>(length),
                    .label = number_below(words[2], classes, "a class")};
  if (columns.count == words.size()) {
    image.sum = sum_in(words[3]);
    image.name = words[4];
  }
  return image;
}

std::vector<PackedImage> parse_pack_index(std::string_view index, std::uint64_t pack_bytes, std::int64_t classes) {
  std::vector<PackedImage> images;
  bool has_ended = false;
  for_each_line(index, [&](std::string_view line) {
    if (has_ended) throw FormatError("expected nothing after the line of the end");
    has_ended = line.starts_with(kEnd);
    if (has_ended)
      return check_end(line, index.substr(0, static_cast<std::size_t>(line.data() - index.data())), images.size());
    const auto image = parse_pack_line(line, pack_bytes, classes);
    if (!images.empty() && images.front().sum.has_value() != image.sum.has_value()) {
      throw FormatError("expected a sum and a name on every line or on none");
    }
    images.push_back(image);
  });
  if (!images.empty() && images.front().sum && !has_ended) {
    throw FormatError("expected a line of the end after " + std::to_string(images.size()) +
                      " images; is the index cut off?");
  }
  return images;
}

void check_sum(const PackedImage& image, std::string_view bytes) {
  if (!image.sum || *image.sum == sum_of(bytes)) return;
  throw FormatError("expected the sum " + hexadecimal(*image.sum) + " that it was packed with, found " +
                    hexadecimal(sum_of(bytes)) + "; the pack has changed: pack the images again, or copy it again");
}

std::string pack_line(const PackedImage& image) {
  if (image.name.empty() || image.name.find('\n') != std::string_view::npos || image.name.ends_with('\r')) {
    throw FormatError("expected a name that fits into a line, found " + in_quotes(image.name) + "; rename the file");
  }
  return std::to_string(image.offset) + " " + std::to_string(image.length) + " " + std::to_string(image.label) + " " +
         hexadecimal(image.sum.value()) + " " + std::string(image.name) + "\n";
}

std::string pack_end(std::size_t images, std::uint32_t sum_of_lines) {
  return std::string(kEnd) + std::to_string(images) + " " + hexadecimal(sum_of_lines) + "\n";
}

}  // namespace quest::data
