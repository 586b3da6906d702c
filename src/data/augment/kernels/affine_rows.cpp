#include "data/augment/kernels/affine_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/augment/kernels/affine_rows.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace quest::data::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// Red, green, blue and a byte of the next pixel, in one vector or in two.
using Doubles = hn::CappedTag<double, 4>;
using Vector = hn::Vec<Doubles>;
constexpr std::size_t kLanes = hn::MaxLanes(Doubles());
static_assert(kLanes == 4 || kLanes == 2);

HWY_INLINE Vector load(const std::uint8_t* from) {
  const Doubles d;
  const hn::Rebind<std::int32_t, Doubles> integers;
  return hn::PromoteTo(d, hn::PromoteTo(integers, hn::LoadU(hn::Rebind<std::uint8_t, Doubles>(), from)));
}

HWY_INLINE void store(Vector value, std::uint8_t* to) {
  const Doubles d;
  const hn::Rebind<std::uint8_t, Doubles> bytes;
  const auto within = hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0));
  hn::StoreU(hn::DemoteTo(bytes, hn::DemoteTo(hn::Rebind<std::int32_t, Doubles>(), within)), bytes, to);
}

// Between p1 and p2.
HWY_INLINE Vector cubic(Vector p0, Vector p1, Vector p2, Vector p3, double place) {
  const auto at = hn::Set(Doubles(), place);
  const auto difference = hn::Sub(p0, p1);
  const auto slope = hn::Sub(p2, p0);
  const auto bend = hn::Sub(hn::Add(hn::Add(difference, difference), p2), p3);
  const auto twist = hn::Add(hn::Sub(hn::Sub(p1, p0), p2), p3);
  return hn::Add(p1, hn::Mul(at, hn::Add(slope, hn::Mul(at, hn::Add(bend, hn::Mul(at, twist))))));
}

// The four places around one, kept inside, in steps of `stride` bytes, and how far it lies behind the second.
struct Part {
  std::array<std::int64_t, 4> offsets;
  double rest;
};

HWY_INLINE Part part(double place, std::int64_t length, std::int64_t stride) {
  const double whole = std::floor(place);
  const auto first = static_cast<std::int64_t>(whole) - 1;
  const auto offset = [&](std::int64_t i) { return std::clamp(first + i, std::int64_t{0}, length - 1) * stride; };
  return {{offset(0), offset(1), offset(2), offset(3)}, place - whole};
}

HWY_INLINE Vector in_row(const std::uint8_t* row, const Part& columns) {
  const auto& [offsets, rest] = columns;
  if (rest == 0.0) return load(row + offsets[1]);
  return cubic(load(row + offsets[0]), load(row + offsets[1]), load(row + offsets[2]), load(row + offsets[3]), rest);
}

HWY_INLINE void sample(const std::uint8_t* from, const Part& rows, const Part& columns, std::uint8_t* to) {
  for (std::size_t lane = 0; lane < 4; lane += kLanes) {
    const auto row = [&](std::size_t i) HWY_ATTR { return in_row(from + lane + rows.offsets[i], columns); };
    const auto value = rows.rest == 0.0 ? row(1) : cubic(row(0), row(1), row(2), row(3), rows.rest);
    store(value, to + lane);
  }
}

void transform_all(const std::uint8_t* from, std::int64_t height, std::int64_t width, const AffineMap& map,
                   const Color& outside, std::uint8_t* to) {
  const auto holds = [](double place, std::int64_t length) {
    return place >= 0.0 && place < static_cast<double>(length);
  };
  for (std::int64_t row = 0; row < height; ++row) {
    const double y = static_cast<double>(row) + 0.5;
    for (std::int64_t column = 0; column < width; ++column, to += 3) {
      const double x = static_cast<double>(column) + 0.5;
      const double from_x = map.xx * x + map.xy * y + map.x0;
      const double from_y = map.yx * x + map.yy * y + map.y0;
      if (holds(from_x, width) && holds(from_y, height)) {
        sample(from, part(from_y - 0.5, height, 3 * width), part(from_x - 0.5, width, 3), to);
      } else {
        std::ranges::copy(outside, to);
      }
    }
  }
}

}  // namespace
}  // namespace quest::data::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::data::kernels {
HWY_EXPORT(transform_all);

void transform_pixels(const std::uint8_t* from, std::int64_t height, std::int64_t width, const AffineMap& map,
                      const Color& outside, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(transform_all)(from, height, width, map, outside, to);
}

}  // namespace quest::data::kernels
#endif
