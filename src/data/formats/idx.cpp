#include "data/formats/idx.h"

#include <cstddef>
#include <string>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kSizeBytes = 4;
constexpr unsigned kUnsignedBytes = 0x08;

unsigned byte_at(std::string_view content, std::size_t position) {
  return static_cast<unsigned char>(content[position]);
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

}  // namespace

IdxBytes parse_idx(std::string_view content) {
  if (content.size() < kMagicBytes || byte_at(content, 0) != 0 || byte_at(content, 1) != 0) {
    throw FormatError("expected an IDX file, which begins with two zero bytes, type and rank; found " +
                      in_quotes(content.substr(0, kMagicBytes)));
  }
  const unsigned type = byte_at(content, 2);
  const unsigned rank = byte_at(content, 3);
  if (type != kUnsignedBytes) {
    throw FormatError("byte 2: expected the type 8, unsigned bytes; found " + std::to_string(type));
  }
  const std::size_t start = kMagicBytes + kSizeBytes * rank;
  if (rank == 0 || content.size() < start) {
    throw FormatError("byte 3: expected a rank of at least 1 whose sizes the file holds; found rank " +
                      std::to_string(rank) + " in a file of " + std::to_string(content.size()) + " bytes");
  }
  IdxBytes result{.values = content.substr(start)};
  std::uint64_t values = 1;
  bool countable = true;
  for (std::size_t i = 0; i < rank; ++i) {
    std::uint32_t size = 0;
    for (std::size_t j = 0; j < kSizeBytes; ++j) size = size << 8 | byte_at(content, kMagicBytes + kSizeBytes * i + j);
    result.shape.push_back(size);
    countable = countable && !__builtin_mul_overflow(values, std::uint64_t{size}, &values);
  }
  if (!countable || values != result.values.size()) {
    throw FormatError("expected " + text_of(result.shape) + " bytes after the sizes, found " +
                      std::to_string(result.values.size()) + "; is the file cut off?");
  }
  return result;
}

}  // namespace quest::data
