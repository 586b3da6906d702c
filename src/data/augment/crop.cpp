#include "data/augment/crop.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "data/augment/draws.h"

namespace quest::data {
namespace {

constexpr int kTries = 10;

PictureSize with_shorter_side(const Picture& picture, std::int64_t side) {
  if (picture.width < picture.height) return {side * picture.height / picture.width, side};
  return {side, side * picture.width / picture.height};
}

PictureBox middle_box(const PictureSize& picture, double least_aspect) {
  const auto height = static_cast<double>(picture.height);
  const auto width = static_cast<double>(picture.width);
  PictureBox box{0, 0, picture.height, picture.width};
  if (width / height < least_aspect) {
    box.height = std::clamp(rounded(width / least_aspect), std::int64_t{1}, picture.height);
  } else if (width / height > 1.0 / least_aspect) {
    box.width = std::clamp(rounded(height / least_aspect), std::int64_t{1}, picture.width);
  }
  box.top = (picture.height - box.height) / 2;
  box.left = (picture.width - box.width) / 2;
  return box;
}

// The window may reach beyond the picture.
Picture padded_window(const Picture& picture, const PictureBox& window, Edge edge) {
  Picture result{window.height, window.width,
                 std::vector<std::uint8_t>(static_cast<std::size_t>(3 * window.height * window.width))};
  const auto outside = [](std::int64_t place, std::int64_t length) { return place < 0 || place >= length; };
  for (std::int64_t row = 0; row < window.height; ++row) {
    const auto from_row = window.top + row;
    if (edge == Edge::black && outside(from_row, picture.height)) continue;
    const auto* from = picture.rgb.data() + 3 * picture.width * reflected(from_row, picture.height);
    auto* to = result.rgb.data() + 3 * window.width * row;
    for (std::int64_t column = 0; column < window.width; ++column) {
      const auto from_column = window.left + column;
      if (edge == Edge::black && outside(from_column, picture.width)) continue;
      std::memcpy(to + 3 * column, from + 3 * reflected(from_column, picture.width), 3);
    }
  }
  return result;
}

}  // namespace

PictureBox random_box(const PictureSize& picture, const RandomCrop& crop, base::Random& random) {
  const auto area = static_cast<double>(picture.height) * static_cast<double>(picture.width);
  for (int i = 0; i < kTries; ++i) {
    const double own_area = area * uniform_between(crop.least_area, 1.0, random);
    const auto [height, width] = random_shape(own_area, crop.least_aspect, random);
    if (width < 1 || width > picture.width || height < 1 || height > picture.height) continue;
    const auto top = whole_number_to(picture.height - height, random);
    return {top, whole_number_to(picture.width - width, random), height, width};
  }
  return middle_box(picture, crop.least_aspect);
}

std::int64_t random_offset(std::int64_t length, const PaddedCrop& crop, base::Random& random) {
  return whole_number_to(length + 2 * crop.padding - crop.side, random) - crop.padding;
}

Picture random_padded_crop(const Picture& picture, const PaddedCrop& crop, Interpolation interpolation,
                           base::Random& random) {
  const auto size = with_shorter_side(picture, crop.side);
  const auto top = random_offset(size.height, crop, random);
  const auto left = random_offset(size.width, crop, random);
  // Only what is seen is computed; it ends at the picture's border wherever the window reaches beyond.
  PictureBox seen{std::max(top, std::int64_t{0}), std::max(left, std::int64_t{0})};
  seen.height = std::min(top + crop.side, size.height) - seen.top;
  seen.width = std::min(left + crop.side, size.width) - seen.left;
  const auto part = resized_window(picture, size, seen, interpolation);
  return padded_window(part, {top - seen.top, left - seen.left, crop.side, crop.side}, crop.edge);
}

Picture centre_crop(const Picture& picture, std::int64_t shorter_side, std::int64_t side, Interpolation interpolation) {
  const auto size = with_shorter_side(picture, shorter_side);
  const auto first = [side](std::int64_t length) { return rounded(static_cast<double>(length - side) / 2.0); };
  return resized_window(picture, size, {first(size.height), first(size.width), side, side}, interpolation);
}

Picture mirrored(Picture picture) {
  for (std::int64_t row = 0; row < picture.height; ++row) {
    auto* left = picture.rgb.data() + 3 * row * picture.width;
    auto* right = left + 3 * (picture.width - 1);
    for (; left < right; left += 3, right -= 3) std::swap_ranges(left, left + 3, right);
  }
  return picture;
}

std::int64_t reflected(std::int64_t place, std::int64_t length) {
  if (place < 0) place = -place;
  if (place >= length) place = 2 * (length - 1) - place;
  return std::clamp(place, std::int64_t{0}, length - 1);
}

}  // namespace quest::data
