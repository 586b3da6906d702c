#pragma once

// A file of the binary version of CIFAR-10 or CIFAR-100: records of the class (one byte; of CIFAR-100 two, the coarse
// and the fine class) and 3072 bytes, the red, then the green, then the blue of 32 rows of 32 pixels. Needs no torch.

#include <cstdint>
#include <string_view>
#include <vector>

namespace quest::data {

inline constexpr std::int64_t kCifarSide = 32;
inline constexpr std::int64_t kCifarClasses = 10;
inline constexpr std::int64_t kCifar100Classes = 100;

// Bytes row after row, pixel after pixel, red, green and blue.
struct LabelledPixels {
  std::vector<std::uint8_t> labels;
  std::vector<std::uint8_t> pixels;  // [labels, 32, 32, 3]
};

// Both append the file's images, the second with their fine classes. Throw FormatError with the number of the record.
void parse_cifar10(std::string_view content, LabelledPixels& images);
void parse_cifar100(std::string_view content, LabelledPixels& images);

}  // namespace quest::data
