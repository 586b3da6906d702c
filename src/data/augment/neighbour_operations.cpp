#include "data/augment/neighbour_operations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "data/augment/blend.h"
#include "data/augment/kernels/picture_rows.h"

namespace quest::data {
namespace {

constexpr std::int64_t kBytes = 3;  // of a pixel

// A 3x3 average that counts the centre five times; the pixels at the border stay.
Picture smoothed(const Picture& picture) {
  Picture result = picture;
  const auto stride = kBytes * picture.width;
  for (std::int64_t row = 1; row < picture.height - 1; ++row) {
    const auto* from = picture.rgb.data() + row * stride;
    auto* to = result.rgb.data() + row * stride;
    for (std::int64_t i = kBytes; i < stride - kBytes; ++i) {
      const auto column = [&](std::int64_t away) {
        return from[i + away - stride] + from[i + away] + from[i + away + stride];
      };
      const auto sum = static_cast<std::uint16_t>(column(-kBytes) + column(0) + column(kBytes) + 4 * from[i]);
      to[i] = static_cast<std::uint8_t>(static_cast<std::uint16_t>(2 * sum + 13) / 26);
    }
  }
  return result;
}

// The radius of the box, not always whole, whose repeated average has the wanted deviation: Gwosdek, Grewenig, Bruhn
// and Weickert, "Theoretical foundations of Gaussian convolution by extended box filtering", 2011. In float, as the
// weights below: bytes show it.
float box_radius(float deviation, int passes) {
  const float variance = deviation * deviation / static_cast<float>(passes);
  const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  const float excess = (2.0F * whole + 1.0F) * (whole * (whole + 1.0F) - 3.0F * variance);
  return whole + excess / (6.0F * (variance - (whole + 1.0F) * (whole + 1.0F)));
}

kernels::Box box_of(float radius) {
  constexpr std::uint32_t kOne = 1U << 24;
  const auto whole = static_cast<std::int64_t>(radius);
  const auto inner = static_cast<std::uint32_t>(static_cast<float>(kOne) / (radius * 2.0F + 1.0F));
  return {whole, inner, (kOne - static_cast<std::uint32_t>(2 * whole + 1) * inner) / 2};
}

// Rows of bytes between copies of the first and the last element, a row or a pixel of `step` bytes.
class Extended {
 public:
  Extended(std::int64_t step, std::int64_t elements, std::int64_t around)
      : step_(step),
        elements_(elements),
        around_(around),
        bytes_(static_cast<std::size_t>((elements + 2 * around) * step + kernels::kRowPadding)) {}

  [[nodiscard]] std::uint8_t* data() { return bytes_.data() + around_ * step_; }

  void extend() {
    auto* first = data();
    auto* last = first + (elements_ - 1) * step_;
    for (std::int64_t i = 1; i <= around_; ++i) {
      std::memcpy(first - i * step_, first, static_cast<std::size_t>(step_));
      std::memcpy(last + i * step_, last, static_cast<std::size_t>(step_));
    }
  }

 private:
  std::int64_t step_;
  std::int64_t elements_;
  std::int64_t around_;
  std::vector<std::uint8_t> bytes_;
};

// Averages over elements of `step` bytes, `passes` times, in place.
void average(std::uint8_t* bytes, std::int64_t step, std::int64_t elements, const kernels::Box& box, int passes) {
  const auto count = step * elements;
  Extended from(step, elements, box.radius + 1);
  Extended to(step, elements, box.radius + 1);
  std::memcpy(from.data(), bytes, static_cast<std::size_t>(count));
  for (int pass = 0; pass < passes; ++pass) {
    from.extend();
    kernels::box_average(from.data(), step, box, count, to.data());
    std::swap(from, to);
  }
  std::memcpy(bytes, from.data(), static_cast<std::size_t>(count));
}

}  // namespace

Picture with_sharpness(Picture picture, double factor) {
  const auto smooth = smoothed(picture);
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) {
    picture.rgb[i] = blended(smooth.rgb[i], picture.rgb[i], static_cast<float>(factor));
  }
  return picture;
}

Picture gaussian_blurred(const Picture& picture, double radius) {
  constexpr int kPasses = 3;
  Picture result = picture;
  if (radius == 0.0) return result;
  const auto box = box_of(box_radius(static_cast<float>(radius), kPasses));
  const auto stride = kBytes * picture.width;
  for (std::int64_t row = 0; row < picture.height; ++row) {
    average(result.rgb.data() + row * stride, kBytes, picture.width, box, kPasses);
  }
  average(result.rgb.data(), stride, picture.height, box, kPasses);
  return result;
}

}  // namespace quest::data
