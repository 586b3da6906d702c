#pragma once

// A file of CIFAR-10's binary version: records of one byte, the class, and 3072 bytes, the red, then the green, then
// the blue of 32 rows of 32 pixels. Needs no torch.

#include <cstdint>
#include <string_view>
#include <vector>

namespace quest::data {

inline constexpr std::int64_t kCifarSide = 32;
inline constexpr std::int64_t kCifarClasses = 10;

// Bytes row after row, pixel after pixel, red, green and blue.
struct LabelledPixels {
  std::vector<std::uint8_t> labels;
  std::vector<std::uint8_t> pixels;  // [labels, 32, 32, 3]
};

// Appends the file's images. Throws FormatError with the number of the record.
void parse_cifar10(std::string_view content, LabelledPixels& images);

}  // namespace quest::data
