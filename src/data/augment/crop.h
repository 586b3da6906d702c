#pragma once

// Which part of a picture is taken, at random or for evaluation, and how it gets its size.

#include <cstdint>

#include "base/random.h"
#include "data/augment/resize.h"

namespace quest::data {

struct RandomCrop {
  double least_area = 0.08;    // of the picture's
  double least_aspect = 0.75;  // of width over height, and of height over width
};

// An area between the least and all, an aspect ratio whose logarithm is uniform, and a place for them, tried ten times;
// else the largest box in the middle with an aspect ratio that is allowed.
[[nodiscard]] PictureBox random_box(const PictureSize& picture, const RandomCrop& crop, base::Random& random);

// What lies around a picture: its pixels mirrored at the border, or nothing.
enum class Edge : std::uint8_t { reflect, black };

struct PaddedCrop {
  std::int64_t side = 0;
  std::int64_t padding = 4;
  Edge edge = Edge::reflect;
};

// Which part of a square's side, from -padding to +padding, or more where the picture is longer.
[[nodiscard]] std::int64_t random_offset(std::int64_t length, const PaddedCrop& crop, base::Random& random);

// A square at random from the picture whose shorter side was made `side` and which got `padding` pixels on each side.
[[nodiscard]] Picture random_padded_crop(const Picture& picture, const PaddedCrop& crop, Interpolation interpolation,
                                         base::Random& random);

// A square of `side` pixels from the middle of the picture whose shorter side was made `shorter_side`.
[[nodiscard]] Picture centre_crop(const Picture& picture, std::int64_t shorter_side, std::int64_t side,
                                  Interpolation interpolation);

// Left to right.
[[nodiscard]] Picture mirrored(Picture picture);

// Where in 0 to length - 1 a place beyond the border is found, for places at most length - 1 beyond it; a single pixel
// is its own mirror image.
[[nodiscard]] std::int64_t reflected(std::int64_t place, std::int64_t length);

}  // namespace quest::data
