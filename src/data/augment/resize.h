#pragma once

// Pictures of another size, byte for byte as Pillow 13 resizes them: with antialiasing, along rows and along columns,
// each rounded to bytes.

#include <cstdint>

#include "data/formats/picture.h"

namespace quest::data {

enum class Interpolation : std::uint8_t { bilinear, bicubic };

struct PictureSize {
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool operator==(const PictureSize&) const = default;
};

// Rows from top to below top + height, columns likewise.
struct PictureBox {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool operator==(const PictureBox&) const = default;
};

[[nodiscard]] PictureBox whole(const Picture& picture);

// Throws std::invalid_argument for a box that is empty or reaches outside.
[[nodiscard]] Picture cropped(const Picture& picture, const PictureBox& box);

// Of the pixels in `from` alone, as if the picture ended there.
[[nodiscard]] Picture resized(const Picture& picture, const PictureBox& from, const PictureSize& to,
                              Interpolation interpolation);

// The part `window` of the picture resized to `to`, without the rest.
[[nodiscard]] Picture resized_window(const Picture& picture, const PictureSize& to, const PictureBox& window,
                                     Interpolation interpolation);

}  // namespace quest::data
