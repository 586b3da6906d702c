#include "data/augment/planes.h"

#include <array>

#include "data/augment/draws.h"

namespace quest::data {
namespace {

constexpr int kTries = 10;
constexpr double kLeastArea = 0.02;
constexpr double kMostArea = 1.0 / 3.0;
constexpr double kLeastAspect = 0.3;
constexpr std::int64_t kChannels = 3;

}  // namespace

void write_planes(const Picture& picture, const PixelStatistics& statistics, float* planes) {
  const auto pixels = picture.height * picture.width;
  for (std::size_t c = 0; c < 3; ++c, planes += pixels) {
    std::array<float, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (static_cast<float>(i) / 255.0F - static_cast<float>(statistics.mean[c])) /
                  static_cast<float>(statistics.deviation[c]);
    }
    const auto* from = picture.rgb.data() + c;
    for (std::int64_t i = 0; i < pixels; ++i) planes[i] = values[from[kChannels * i]];
  }
}

PictureBox erased_box(const PictureSize& size, double probability, base::Random& random) {
  if (random.uniform() >= probability) return {};
  const auto area = static_cast<double>(size.height) * static_cast<double>(size.width);
  for (int i = 0; i < kTries; ++i) {
    const double own_area = area * uniform_between(kLeastArea, kMostArea, random);
    const auto [height, width] = random_shape(own_area, kLeastAspect, random);
    if (height >= size.height || width >= size.width) continue;
    const auto top = whole_number_to(size.height - height, random);
    return {top, whole_number_to(size.width - width, random), height, width};
  }
  return {};
}

void erase(float* planes, const PictureSize& size, const PictureBox& box, std::uint64_t seed) {
  base::Random noise(seed, {});
  for (std::int64_t channel = 0; channel < kChannels; ++channel) {
    for (std::int64_t row = box.top; row < box.top + box.height; ++row) {
      auto* to = planes + (channel * size.height + row) * size.width;
      for (auto column = box.left; column < box.left + box.width; ++column) {
        to[column] = static_cast<float>(noise.normal());
      }
    }
  }
}

}  // namespace quest::data
