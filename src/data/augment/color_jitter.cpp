#include "data/augment/color_jitter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/augment/draws.h"
#include "data/augment/neighbour_operations.h"
#include "data/augment/point_operations.h"

namespace quest::data {
namespace {

constexpr int kThreshold = 128;
constexpr double kLeastBlur = 0.1;
constexpr double kMostBlur = 2.0;

}  // namespace

Picture color_jittered(Picture picture, double strength, base::Random& random) {
  std::array changes = {with_brightness, with_contrast, with_color};
  for (std::size_t i = changes.size(); i > 1; --i) std::swap(changes[i - 1], changes[random.below(i)]);
  const double least = std::max(0.0, 1.0 - strength);
  for (const auto change : changes) {
    picture = change(std::move(picture), uniform_between(least, 1.0 + strength, random));
  }
  return picture;
}

Picture one_of_three(Picture picture, base::Random& random) {
  switch (random.below(3)) {
    case 0:
      return in_grey(std::move(picture));
    case 1:
      return solarized(std::move(picture), kThreshold);
    default:
      return gaussian_blurred(picture, uniform_between(kLeastBlur, kMostBlur, random));
  }
}

}  // namespace quest::data
