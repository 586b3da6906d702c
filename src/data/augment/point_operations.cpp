#include "data/augment/point_operations.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "data/augment/blend.h"

namespace quest::data {
namespace {

using Table = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::int64_t, 256>;
constexpr std::size_t kChannels = 3;

std::uint8_t byte(std::int64_t value) {
  return static_cast<std::uint8_t>(std::clamp(value, std::int64_t{0}, std::int64_t{255}));
}

template <typename Value>
Table table_of(const Value& value) {
  Table table{};
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = byte(value(i));
  return table;
}

Picture mapped(Picture picture, const std::array<Table, kChannels>& tables) {
  for (std::size_t i = 0; i < picture.rgb.size(); i += kChannels) {
    for (std::size_t c = 0; c < kChannels; ++c) picture.rgb[i + c] = tables[c][picture.rgb[i + c]];
  }
  return picture;
}

Picture mapped(Picture picture, const Table& table) { return mapped(std::move(picture), {table, table, table}); }

// A table for each channel, made from its histogram.
Picture mapped_by_histogram(Picture picture, Table (*table)(const Histogram&)) {
  std::array<Histogram, kChannels> histograms{};
  for (std::size_t i = 0; i < picture.rgb.size(); i += kChannels) {
    for (std::size_t c = 0; c < kChannels; ++c) ++histograms[c][picture.rgb[i + c]];
  }
  return mapped(std::move(picture), {table(histograms[0]), table(histograms[1]), table(histograms[2])});
}

Table unchanged() {
  return table_of([](int value) { return value; });
}

std::size_t last_value(const Histogram& histogram) {
  return static_cast<std::size_t>(
      std::ranges::find_if(histogram.rbegin(), histogram.rend(), [](std::int64_t count) { return count > 0; }) -
      histogram.rbegin());
}

Table stretched(const Histogram& histogram) {
  const auto first = std::ranges::find_if(histogram, [](std::int64_t count) { return count > 0; }) - histogram.begin();
  const auto last = 255 - static_cast<std::int64_t>(last_value(histogram));
  if (last <= first) return unchanged();
  const double scale = 255.0 / static_cast<double>(last - first);
  const double offset = static_cast<double>(-first) * scale;
  return table_of([&](int value) { return static_cast<std::int64_t>(value * scale + offset); });
}

Table levelled(const Histogram& histogram) {
  const auto all = std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0});
  const auto step = (all - histogram[255 - last_value(histogram)]) / 255;
  if (step == 0) return unchanged();
  std::int64_t below = step / 2;
  return table_of([&](int value) {
    const auto level = below / step;
    below += histogram[static_cast<std::size_t>(value)];
    return level;
  });
}

// With the weights of ITU-R 601-2, in 16 bits behind the point.
std::uint8_t grey(const std::uint8_t* pixel) {
  return static_cast<std::uint8_t>((pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >> 16);
}

Picture blended_with(Picture picture, std::uint8_t base, double factor) {
  return mapped(std::move(picture), table_of([&](int value) {
                  return blended(base, static_cast<std::uint8_t>(value), static_cast<float>(factor));
                }));
}

}  // namespace

Picture auto_contrast(Picture picture) { return mapped_by_histogram(std::move(picture), stretched); }

Picture equalized(Picture picture) { return mapped_by_histogram(std::move(picture), levelled); }

Picture inverted(Picture picture) {
  return mapped(std::move(picture), table_of([](int value) { return 255 - value; }));
}

Picture posterized(Picture picture, int bits) {
  const int mask = 0xff << (8 - bits) & 0xff;
  return mapped(std::move(picture), table_of([mask](int value) { return value & mask; }));
}

Picture solarized(Picture picture, int threshold) {
  return mapped(std::move(picture), table_of([&](int value) { return value < threshold ? value : 255 - value; }));
}

Picture solarized_by_adding(Picture picture, int added) {
  return mapped(std::move(picture), table_of([&](int value) { return value < 128 ? value + added : value; }));
}

Picture with_brightness(Picture picture, double factor) { return blended_with(std::move(picture), 0, factor); }

Picture with_contrast(Picture picture, double factor) {
  const auto pixels = picture.rgb.size() / kChannels;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < pixels; ++i) sum += grey(picture.rgb.data() + kChannels * i);
  const auto mean = static_cast<std::uint8_t>(static_cast<double>(sum) / static_cast<double>(pixels) + 0.5);
  return blended_with(std::move(picture), mean, factor);
}

Picture with_color(Picture picture, double factor) {
  for (std::size_t i = 0; i < picture.rgb.size(); i += kChannels) {
    auto* pixel = picture.rgb.data() + i;
    const auto base = grey(pixel);
    for (std::size_t c = 0; c < kChannels; ++c) pixel[c] = blended(base, pixel[c], static_cast<float>(factor));
  }
  return picture;
}

Picture in_grey(Picture picture) {
  for (std::size_t i = 0; i < picture.rgb.size(); i += kChannels) {
    std::fill_n(picture.rgb.begin() + static_cast<std::ptrdiff_t>(i), kChannels, grey(picture.rgb.data() + i));
  }
  return picture;
}

}  // namespace quest::data
