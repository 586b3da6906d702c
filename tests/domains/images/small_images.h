#pragma once

// Files as Fashion-MNIST is published, with pictures that are learned in a few steps: a bright bar for every class.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace quest::testing {

inline constexpr int kSmallImageSide = 28;

inline std::string idx_header(std::initializer_list<std::uint32_t> shape) {
  std::string header = {'\0', '\0', '\x08', static_cast<char>(shape.size())};
  for (const auto size : shape) {
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(size >> shift & 0xFFU);
  }
  return header;
}

inline void write_small_images(const std::filesystem::path& folder, const std::string& part, std::uint32_t count) {
  constexpr std::uint32_t kSide = kSmallImageSide;
  std::string images = idx_header({count, kSide, kSide});
  std::string labels = idx_header({count});
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t label = i % 10;
    for (std::uint32_t row = 0; row < kSide; ++row) {
      for (std::uint32_t column = 0; column < kSide; ++column) {
        const bool is_bar = row / 2 == label + 2;
        images += static_cast<char>((is_bar ? 200 : 0) + (7 * i + 3 * row + 5 * column) % 50);
      }
    }
    labels += static_cast<char>(label);
  }
  std::filesystem::create_directories(folder);
  std::ofstream(folder / (part + "-images-idx3-ubyte"), std::ios::binary) << images;
  std::ofstream(folder / (part + "-labels-idx1-ubyte"), std::ios::binary) << labels;
}

inline void write_small_image_set(const std::filesystem::path& folder) {
  write_small_images(folder, "train", 200);
  write_small_images(folder, "t10k", 50);
}

}  // namespace quest::testing
