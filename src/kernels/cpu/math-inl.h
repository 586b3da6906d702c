// Vector exponentials and the dropout generator. Included once per instruction set.

#include <cstdint>

#if defined(QUEST_KERNELS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_KERNELS_CPU_MATH_INL_H_
#undef QUEST_KERNELS_CPU_MATH_INL_H_
#else
#define QUEST_KERNELS_CPU_MATH_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/dropout_row.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float kLog2E = 1.44269504088896341F;
constexpr float kLn2 = 0.693147180559945309F;

// Below this 2^x is not a normal float any more and counts as zero.
constexpr float kLeastExponent = -125.0F;

// 2^x for x in [kLeastExponent, 127]; elsewhere meaningless, NaN stays NaN. Relative error under 2e-7.
// 2^f on [-1/2, 1/2] is the polynomial of degree 5 with the least relative error (7.5e-8).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_in_range(D d, V x) {
  const hn::RebindToSigned<D> di;
  // Adding 1.5·2^23 rounds to an integer and leaves that integer in the low bits.
  const V magic = hn::Set(d, 12582912.0F);
  const V shifted = hn::Add(x, magic);
  const V f = hn::Sub(x, hn::Sub(shifted, magic));
  V p = hn::Set(d, 1.3276472632e-3F);
  p = hn::MulAdd(p, f, hn::Set(d, 9.67554134312e-3F));
  p = hn::MulAdd(p, f, hn::Set(d, 5.55071327186e-2F));
  p = hn::MulAdd(p, f, hn::Set(d, 2.40221197237e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 6.93146967065e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.00000007165F));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

// 2^x for x ≤ 127; 0 below the normal range, NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_or_zero(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kLeastExponent)), exp2_in_range(d, x));
}

// --- dropout ---

// Factors 0 or 1/(1 - p) for the keys starting at `key`.
template <class D>
HWY_INLINE hn::Vec<D> dropout_factor(D d, const DropoutRow& row, std::uint32_t key, float p) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto keys = hn::Iota(du, key);
  const auto pair = hn::Or(hn::ShiftLeft<3>(hn::ShiftRight<4>(keys)), hn::And(keys, hn::Set(du, 7U)));
  auto x = hn::Add(pair, hn::Set(du, row.first_key));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, kDropoutFirstFactor));
  x = hn::Mul(hn::Xor3(x, hn::ShiftRight<15>(x), hn::Set(du, row.second_key)), hn::Set(du, kDropoutSecondFactor));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  const auto second = hn::TestBit(keys, hn::Set(du, 8U));
  const auto bits = hn::IfThenElse(second, hn::ShiftRight<16>(x), hn::And(x, hn::Set(du, 0xffffU)));
  const auto threshold = hn::Set(di, static_cast<std::int32_t>(dropout_threshold(p)));
  const auto dropped = hn::RebindMask(d, hn::Lt(hn::BitCast(di, bits), threshold));
  return hn::IfThenZeroElse(dropped, hn::Set(d, 1.0F / (1.0F - p)));
}

}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
