#include "data/augment/geometry.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "data/augment/kernels/affine_rows.h"

namespace quest::data {
namespace {

// The reference rounds what it takes for exact.
double to_15_digits(double x) { return std::nearbyint(x * 1e15) / 1e15; }

}  // namespace

Picture transformed(Picture picture, const AffineMap& map, const Color& outside) {
  const auto bytes = picture.rgb.size();
  picture.rgb.resize(bytes + kernels::kPixelPadding);
  Picture result{picture.height, picture.width, std::vector<std::uint8_t>(picture.rgb.size())};
  kernels::transform_pixels(picture.rgb.data(), picture.height, picture.width, map, outside, result.rgb.data());
  result.rgb.resize(bytes);
  return result;
}

Picture rotated(Picture picture, double degrees, const Color& outside) {
  if (degrees == 0.0) return picture;
  const double turn = -degrees * (std::numbers::pi / 180.0);
  const double cosine = to_15_digits(std::cos(turn));
  const double sine = to_15_digits(std::sin(turn));
  const double x = static_cast<double>(picture.width) / 2.0;
  const double y = static_cast<double>(picture.height) / 2.0;
  const AffineMap map{.xx = cosine,
                      .xy = sine,
                      .x0 = cosine * -x + sine * -y + x,
                      .yx = -sine,
                      .yy = cosine,
                      .y0 = -sine * -x + cosine * -y + y};
  return transformed(std::move(picture), map, outside);
}

}  // namespace quest::data
