#pragma once

// A picture of one colour as the bytes of a PNG file.

#include <zlib.h>

#include <array>
#include <cstdint>
#include <string>

namespace quest::testing {

using Colour = std::array<std::uint8_t, 3>;

inline std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 255U);
  return bytes;
}

inline std::string png_chunk(const std::string& name, const std::string& data) {
  const auto content = name + data;
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  return big_endian(static_cast<std::uint32_t>(data.size())) + content + big_endian(static_cast<std::uint32_t>(sum));
}

inline std::string tiny_png(const Colour& colour, std::uint32_t height = 3, std::uint32_t width = 4) {
  std::string rows;
  for (std::uint32_t row = 0; row < height; ++row) {
    rows += '\0';
    for (std::uint32_t column = 0; column < width; ++column) rows.append(colour.begin(), colour.end());
  }
  auto packed_size = compressBound(rows.size());
  std::string packed(packed_size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &packed_size, reinterpret_cast<const Bytef*>(rows.data()),
           rows.size());
  packed.resize(packed_size);
  const std::string kind("\x08\x02\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", big_endian(width) + big_endian(height) + kind) +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

}  // namespace quest::testing
