#include "data/augment/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quest::data {
namespace {

constexpr std::int64_t kChannels = 3;

// Between p[1] and p[2].
double cubic(double p0, double p1, double p2, double p3, double place) {
  const double slope = p2 - p0;
  const double bend = 2.0 * (p0 - p1) + p2 - p3;
  const double twist = p1 - p0 - p2 + p3;
  return p1 + place * (slope + place * (bend + place * twist));
}

std::uint8_t byte(double value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)); }

class Bicubic {
 public:
  explicit Bicubic(const Picture& picture) : picture_(picture) {}

  // False outside the picture.
  bool sample(double x, double y, std::uint8_t* to) const {
    const bool is_inside =
        x >= 0.0 && x < static_cast<double>(picture_.width) && y >= 0.0 && y < static_cast<double>(picture_.height);
    if (!is_inside) return false;
    const auto along_row = part(x - 0.5, picture_.width);
    const auto along_column = part(y - 0.5, picture_.height);
    for (std::int64_t c = 0; c < kChannels; ++c) to[c] = byte(value(along_row, along_column, c));
    return true;
  }

 private:
  // The four places around one, kept inside, and how far it lies behind the second.
  struct Part {
    std::array<std::int64_t, 4> places;
    double rest;
  };

  static Part part(double place, std::int64_t length) {
    const double whole = std::floor(place);
    const auto first = static_cast<std::int64_t>(whole) - 1;
    Part result{{}, place - whole};
    for (std::int64_t i = 0; i < 4; ++i) {
      result.places[static_cast<std::size_t>(i)] = std::clamp(first + i, std::int64_t{0}, length - 1);
    }
    return result;
  }

  [[nodiscard]] double in_row(std::int64_t row, const Part& columns, std::int64_t channel) const {
    const auto* from = picture_.rgb.data() + kChannels * row * picture_.width + channel;
    const auto at = [&](std::size_t i) -> double { return from[kChannels * columns.places[i]]; };
    return columns.rest == 0.0 ? at(1) : cubic(at(0), at(1), at(2), at(3), columns.rest);
  }

  [[nodiscard]] double value(const Part& columns, const Part& rows, std::int64_t channel) const {
    const auto at = [&](std::size_t i) { return in_row(rows.places[i], columns, channel); };
    return rows.rest == 0.0 ? at(1) : cubic(at(0), at(1), at(2), at(3), rows.rest);
  }

  const Picture& picture_;
};

// The reference rounds what it takes for exact.
double to_15_digits(double x) { return std::nearbyint(x * 1e15) / 1e15; }

}  // namespace

Picture transformed(const Picture& picture, const AffineMap& map, const Color& outside) {
  Picture result{picture.height, picture.width, std::vector<std::uint8_t>(picture.rgb.size())};
  const Bicubic source(picture);
  auto* to = result.rgb.data();
  for (std::int64_t row = 0; row < picture.height; ++row) {
    const double y = static_cast<double>(row) + 0.5;
    for (std::int64_t column = 0; column < picture.width; ++column, to += kChannels) {
      const double x = static_cast<double>(column) + 0.5;
      const double from_x = map.xx * x + map.xy * y + map.x0;
      const double from_y = map.yx * x + map.yy * y + map.y0;
      if (!source.sample(from_x, from_y, to)) std::ranges::copy(outside, to);
    }
  }
  return result;
}

Picture rotated(const Picture& picture, double degrees, const Color& outside) {
  if (degrees == 0.0) return picture;
  const double turn = -degrees * (std::numbers::pi / 180.0);
  const double cosine = to_15_digits(std::cos(turn));
  const double sine = to_15_digits(std::sin(turn));
  const double x = static_cast<double>(picture.width) / 2.0;
  const double y = static_cast<double>(picture.height) / 2.0;
  return transformed(picture,
                     {.xx = cosine,
                      .xy = sine,
                      .x0 = cosine * -x + sine * -y + x,
                      .yx = -sine,
                      .yy = cosine,
                      .y0 = -sine * -x + cosine * -y + y},
                     outside);
}

}  // namespace quest::data
