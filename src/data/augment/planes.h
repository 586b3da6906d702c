#pragma once

// Pictures become what a model reads: a plane of normalised floats for each colour.

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "data/augment/resize.h"

namespace quest::data {

// Of pixels from 0 to 1, for each channel.
struct PixelStatistics {
  std::vector<double> mean = {0.0, 0.0, 0.0};
  std::vector<double> deviation = {1.0, 1.0, 1.0};
};

// To [3, height, width].
void write_planes(const Picture& picture, const PixelStatistics& statistics, float* planes);

// Random erasing: of 2 to 33 % of the area, with an aspect ratio between 0.3 and 1 / 0.3 whose logarithm is uniform. A
// box without pixels where `probability` says no or ten boxes did not fit.
[[nodiscard]] PictureBox erased_box(const PictureSize& size, double probability, base::Random& random);

// The box becomes noise N(0, 1): its n-th number over channels, rows and columns is the n-th of base::Random(seed, {}).
void erase(float* planes, const PictureSize& size, const PictureBox& box, std::uint64_t seed);

}  // namespace quest::data
