#pragma once

// Pictures in the files of Fashion-MNIST, a few of them, so that a test needs no data set.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace quest::cli {

inline void write_idx(const std::filesystem::path& file, const std::vector<std::uint32_t>& shape,
                      const std::string& bytes) {
  std::string content = {0, 0, 8, static_cast<char>(shape.size())};
  for (const auto size : shape) {
    for (const int shift : {24, 16, 8, 0}) content += static_cast<char>(size >> static_cast<unsigned>(shift) & 0xffU);
  }
  std::ofstream(file, std::ios::binary) << content + bytes;
}

// Of class c the rows from 2c on are bright.
inline void write_tiny_pictures(const std::filesystem::path& folder, std::uint32_t train = 64,
                                std::uint32_t test = 30) {
  constexpr std::uint32_t kSide = 28;
  std::filesystem::create_directories(folder);
  for (const auto& [prefix, count] : {std::pair(std::string("train"), train), std::pair(std::string("t10k"), test)}) {
    std::string pixels;
    std::string labels;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto label = i * 7 % 10;
      labels += static_cast<char>(label);
      for (std::uint32_t p = 0; p < kSide * kSide; ++p) {
        pixels += static_cast<char>((p / kSide > 2 * label ? 150 : 0) + (p * 31 + i * 17) % 90);
      }
    }
    write_idx(folder / (prefix + "-images-idx3-ubyte"), {count, kSide, kSide}, pixels);
    write_idx(folder / (prefix + "-labels-idx1-ubyte"), {count}, labels);
  }
}

}  // namespace quest::cli
