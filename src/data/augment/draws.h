#pragma once

// What several augmentations draw.

#include <cmath>
#include <cstdint>

#include "base/random.h"

namespace quest::data {

inline double uniform_between(double least, double most, base::Random& random) {
  return least + (most - least) * random.uniform();
}

// From 0 to `most`.
inline std::int64_t whole_number_to(std::int64_t most, base::Random& random) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most + 1)));
}

// Halves go to the even neighbour, as in the references.
inline std::int64_t rounded(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

struct BoxShape {
  std::int64_t height;
  std::int64_t width;
};

// Of the area, with a ratio of the sides between the least and its inverse whose logarithm is uniform.
inline BoxShape random_shape(double area, double least_ratio, base::Random& random) {
  const double most = -std::log(least_ratio);
  const double ratio = std::exp(uniform_between(-most, most, random));
  return {rounded(std::sqrt(area / ratio)), rounded(std::sqrt(area * ratio))};
}

}  // namespace quest::data
