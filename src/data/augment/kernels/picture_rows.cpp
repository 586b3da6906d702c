#include "data/augment/kernels/picture_rows.h"

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/augment/kernels/picture_rows.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace quest::data::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// Red, green, blue and a byte of the next pixel.
using Pixel = hn::FixedTag<std::int32_t, 4>;

template <typename D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const std::uint8_t* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D>(), from));
}

template <typename D>
HWY_INLINE void store_bytes(D /*d*/, hn::Vec<D> sums, std::uint8_t* to) {
  const hn::Rebind<std::uint8_t, D> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kWeightBits>(sums)), bytes, to);
}

void resample_across_rows(const std::uint8_t* rows, std::int64_t stride, const Taps& taps, std::uint8_t* out,
                          std::int64_t out_stride) {
  static_assert(kRowsAcross == 4);
  const Pixel d;
  for (std::int64_t i = 0; i < taps.outputs; ++i) {
    const std::uint8_t* from = rows + 3 * static_cast<std::int64_t>(taps.first[i]);
    const std::int32_t* weights = taps.weights + i * taps.taps;
    auto sum0 = hn::Set(d, kHalf);
    auto sum1 = sum0;
    auto sum2 = sum0;
    auto sum3 = sum0;
    for (std::int64_t tap = 0; tap < taps.taps; ++tap, from += 3) {
      const auto weight = hn::Set(d, weights[tap]);
      sum0 = hn::Add(sum0, hn::Mul(load_bytes(d, from), weight));
      sum1 = hn::Add(sum1, hn::Mul(load_bytes(d, from + stride), weight));
      sum2 = hn::Add(sum2, hn::Mul(load_bytes(d, from + 2 * stride), weight));
      sum3 = hn::Add(sum3, hn::Mul(load_bytes(d, from + 3 * stride), weight));
    }
    store_bytes(d, sum0, out + 3 * i);
    store_bytes(d, sum1, out + 3 * i + out_stride);
    store_bytes(d, sum2, out + 3 * i + 2 * out_stride);
    store_bytes(d, sum3, out + 3 * i + 3 * out_stride);
  }
}

void resample_down_row(const std::uint8_t* rows, std::int64_t stride, const std::int32_t* weights, std::int64_t taps,
                       std::int64_t bytes, std::uint8_t* out) {
  const hn::ScalableTag<std::int32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < bytes; i += 2 * lanes) {
    auto low = hn::Set(d, kHalf);
    auto high = low;
    const std::uint8_t* from = rows + i;
    for (std::int64_t tap = 0; tap < taps; ++tap, from += stride) {
      const auto weight = hn::Set(d, weights[tap]);
      low = hn::Add(low, hn::Mul(load_bytes(d, from), weight));
      high = hn::Add(high, hn::Mul(load_bytes(d, from + lanes), weight));
    }
    store_bytes(d, low, out + i);
    store_bytes(d, high, out + i + lanes);
  }
}

void box_average_row(const std::uint8_t* bytes, std::int64_t step, const Box& box, std::int64_t count,
                     std::uint8_t* out) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::RebindToSigned<decltype(d)> signed_d;
  const hn::Rebind<std::uint8_t, decltype(d)> byte_d;
  const auto inner = hn::Set(d, box.inner);
  const auto outer = hn::Set(d, box.outer);
  const std::int64_t outside = (box.radius + 1) * step;
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    auto inside = load_bytes(d, bytes + i);
    for (std::int64_t away = step; away < outside; away += step) {
      inside = hn::Add(inside, hn::Add(load_bytes(d, bytes + i - away), load_bytes(d, bytes + i + away)));
    }
    const auto ends = hn::Add(load_bytes(d, bytes + i - outside), load_bytes(d, bytes + i + outside));
    const auto sum = hn::Add(hn::Mul(inside, inner), hn::Add(hn::Mul(ends, outer), hn::Set(d, 1U << 23)));
    hn::StoreU(hn::DemoteTo(byte_d, hn::BitCast(signed_d, hn::ShiftRight<24>(sum))), byte_d, out + i);
  }
}

}  // namespace
}  // namespace quest::data::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::data::kernels {
HWY_EXPORT(resample_across_rows);
HWY_EXPORT(resample_down_row);
HWY_EXPORT(box_average_row);

void resample_across(const std::uint8_t* rows, std::int64_t stride, const Taps& taps, std::uint8_t* out,
                     std::int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(resample_across_rows)(rows, stride, taps, out, out_stride);
}

void resample_down(const std::uint8_t* rows, std::int64_t stride, const std::int32_t* weights, std::int64_t taps,
                   std::int64_t bytes, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(resample_down_row)(rows, stride, weights, taps, bytes, out);
}

void box_average(const std::uint8_t* bytes, std::int64_t step, const Box& box, std::int64_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(box_average_row)(bytes, step, box, count, out);
}

}  // namespace quest::data::kernels
#endif
