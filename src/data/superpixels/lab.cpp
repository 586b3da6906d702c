#include "data/superpixels/lab.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace quest::data {
namespace {

using Colour = std::array<double, 3>;

constexpr std::array<Colour, 3> kXyzOfRgb = {
    {{0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227}}};
constexpr Colour kWhite = {0.95047, 1.0, 1.08883};

double linear(double value) {
  constexpr double kKnee = 0.04045;
  return value > kKnee ? std::pow((value + 0.055) / 1.055, 2.4) : value / 12.92;
}

double response(double value) {
  constexpr double kKnee = 0.008856;
  return value > kKnee ? std::cbrt(value) : 7.787 * value + 16.0 / 116.0;
}

}  // namespace

std::vector<double> lab_of(std::span<const float> rgb) {
  std::vector<double> lab(rgb.size());
  for (std::size_t i = 0; i + 2 < rgb.size(); i += 3) {
    const Colour own = {linear(rgb[i]), linear(rgb[i + 1]), linear(rgb[i + 2])};
    Colour f{};
    for (std::size_t c = 0; c < 3; ++c) {
      const auto& row = kXyzOfRgb[c];
      f[c] = response((row[0] * own[0] + row[1] * own[1] + row[2] * own[2]) / kWhite[c]);
    }
    lab[i] = 116.0 * f[1] - 16.0;
    lab[i + 1] = 500.0 * (f[0] - f[1]);
    lab[i + 2] = 200.0 * (f[1] - f[2]);
  }
  return lab;
}

}  // namespace quest::data
