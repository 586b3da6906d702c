// Passes over rows of logits (in units of log 2; natural ones beside an additive mask): masks, exponentials, dropout. A
// row is p[0, n), padded to whole vectors; every pass leaves the padding zero or untouched.

#include <cmath>
#include <cstdint>
#include <limits>

#if defined(QUEST_KERNELS_CPU_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_KERNELS_CPU_SOFTMAX_INL_H_
#undef QUEST_KERNELS_CPU_SOFTMAX_INL_H_
#else
#define QUEST_KERNELS_CPU_SOFTMAX_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Logits are kept in these units. Natural ones take an additive mask as it is: one rounding, and none overflows.
HWY_INLINE float units_per_nat(MaskType type) { return is_additive(type) ? 1.0F : kLog2E; }
HWY_INLINE float nats_per_unit(MaskType type) { return is_additive(type) ? 1.0F : kLn2; }

HWY_INLINE hn::Vec<Floats> masked_logits(hn::Vec<Floats> logits, const std::uint8_t* allowed) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const auto bytes = hn::PromoteTo(di, hn::LoadU(hn::Rebind<std::uint8_t, Floats>(), allowed));
  const auto forbidden = hn::RebindMask(d, hn::Eq(bytes, hn::Zero(di)));
  return hn::IfThenElse(forbidden, hn::Set(d, -kInfinity), logits);
}

// Minus infinity hides the key even if its logit is NaN.
template <typename T>
HWY_INLINE hn::Vec<Floats> masked_logits(hn::Vec<Floats> logits, const T* bias) {
  const Floats d;
  const auto b = load_floats(bias);
  const auto minus_infinity = hn::Set(d, -kInfinity);
  return hn::IfThenElse(hn::Eq(b, minus_infinity), minus_infinity, hn::Add(logits, b));
}

template <typename T>
HWY_INLINE void apply_mask_row(float* p, std::int64_t n, const T* mask) {
  const Floats d;
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::StoreU(masked_logits(hn::LoadU(d, p + j), mask + j), d, p + j);
  if (j < n) {
    T tail[kLanes] = {};
    std::copy_n(mask + j, n - j, tail);
    hn::StoreU(masked_logits(hn::LoadU(d, p + j), tail), d, p + j);
  }
}

// The mask of one query: element 0 belongs to key `first_key`.
HWY_INLINE void apply_mask(const Mask& mask, std::int64_t batch, std::int64_t head, std::int64_t row,
                           std::int64_t first_key, float* p, std::int64_t n) {
  const std::int64_t at = batch * mask.batch_stride + head * mask.head_stride + row * mask.row_stride + first_key;
  switch (mask.type) {
    case MaskType::none:
      return;
    case MaskType::boolean:
      return apply_mask_row(p, n, static_cast<const std::uint8_t*>(mask.data) + at);
    case MaskType::additive_float32:
      return apply_mask_row(p, n, static_cast<const float*>(mask.data) + at);
    case MaskType::additive_bfloat16:
      return apply_mask_row(p, n, static_cast<const hwy::bfloat16_t*>(mask.data) + at);
    case MaskType::additive_float16:
      return apply_mask_row(p, n, static_cast<const hwy::float16_t*>(mask.data) + at);
  }
}

HWY_INLINE float max_row(const float* p, std::int64_t n) {
  const Floats d;
  auto most = hn::Set(d, -kInfinity);
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) most = hn::Max(hn::LoadU(d, p + j), most);
  if (j < n) {
    most = hn::Max(hn::IfThenElse(hn::FirstN(d, n - j), hn::LoadU(d, p + j), hn::Set(d, -kInfinity)), most);
  }
  // Not every target's reduction knows minus infinity.
  if (hn::AllTrue(d, hn::Eq(most, hn::Set(d, -kInfinity)))) return -kInfinity;
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

enum class Range {
  safe,     // every p[j] - offset lies where 2^x is a normal number
  any,      // p[j] - offset may be far below
  natural,  // likewise, in natural units
  clamped,  // likewise, less a low part of the offset, and rounding may lift it above 0, where a probability cannot be
};

// p[j] = 2^(p[j] - offset), or e to that power, for j < n, 0 up to the end of the vector; returns their sum.
template <Range kRange>
HWY_INLINE float exp_row(float* p, std::int64_t n, float offset, float low = 0.0F) {
  const Floats d;
  const auto off = hn::Set(d, offset);
  const auto low_off = hn::Set(d, low);
  const auto exponential = [&](hn::Vec<Floats> x) HWY_ATTR {
    if constexpr (kRange == Range::safe) return exp2_in_range(d, x);
    x = hn::Sub(x, off);
    if constexpr (kRange == Range::clamped) {
      x = hn::Sub(x, low_off);
      x = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Zero(d), x);
    }
    if constexpr (kRange == Range::natural || kRange == Range::clamped) x = hn::Mul(x, hn::Set(d, kLog2E));
    return exp2_or_zero(d, x);
  };
  auto sum = hn::Zero(d);
  auto other_sum = hn::Zero(d);
  std::int64_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
    const auto e = exponential(hn::LoadU(d, p + j));
    const auto f = exponential(hn::LoadU(d, p + j + kLanes));
    hn::StoreU(e, d, p + j);
    hn::StoreU(f, d, p + j + kLanes);
    sum = hn::Add(sum, e);
    other_sum = hn::Add(other_sum, f);
  }
  for (; j < n; j += kLanes) {
    const auto e = exponential(hn::LoadU(d, p + j));
    const auto valid = n - j < kLanes ? hn::IfThenElseZero(hn::FirstN(d, n - j), e) : e;
    hn::StoreU(valid, d, p + j);
    sum = hn::Add(sum, valid);
  }
  return sum_of(hn::Add(sum, other_sum));
}

// The probabilities of a row whose log-sum-exp is NaN: NaN, but 0 for the keys that a mask hides from it.
HWY_INLINE void nan_row(float* p, std::int64_t n) {
  const Floats d;
  const auto nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t j = 0; j < n; j += kLanes) {
    const auto hidden = hn::Eq(hn::LoadU(d, p + j), hn::Set(d, -kInfinity));
    const auto valid = n - j < kLanes ? hn::IfThenElseZero(hn::FirstN(d, n - j), nan) : nan;
    hn::StoreU(hn::IfThenZeroElse(hidden, valid), d, p + j);
  }
}

HWY_INLINE void zero_row(float* p, std::int64_t from, std::int64_t to) {
  const Floats d;
  for (std::int64_t j = from; j < to; j += kLanes) hn::StoreU(hn::Zero(d), d, p + j);
}

HWY_INLINE void drop_row(float* p, std::int64_t n, const DropoutRow& row, std::int64_t first_key, float dropout_p) {
  const Floats d;
  for (std::int64_t j = 0; j < n; j += kLanes) {
    const auto factor = dropout_factor(d, row, static_cast<std::uint32_t>(first_key + j), dropout_p);
    hn::StoreU(hn::Mul(factor, hn::LoadU(d, p + j)), d, p + j);
  }
}

}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
