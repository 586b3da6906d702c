// Vectors of float32 from and to memory in any storage type.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#if defined(QUEST_KERNELS_CPU_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_KERNELS_CPU_STORAGE_INL_H_
#undef QUEST_KERNELS_CPU_STORAGE_INL_H_
#else
#define QUEST_KERNELS_CPU_STORAGE_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/attention_problem.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(Floats()));

// Calls visit with `data` as a pointer to the storage type; const when `data` is.
template <typename Void, typename Visit>
HWY_INLINE void with_type(StorageType type, Void* data, Visit visit) {
  const auto as = [data]<typename T>(T) {
    return static_cast<std::conditional_t<std::is_const_v<Void>, const T, T>*>(data);
  };
  switch (type) {
    case StorageType::float32:
      return visit(as(float{}));
    case StorageType::bfloat16:
      return visit(as(hwy::bfloat16_t{}));
    case StorageType::float16:
      return visit(as(hwy::float16_t{}));
  }
}

// --- float16 where the instruction set has no conversion: highway's own neither rounds nor knows infinities ---

constexpr bool kConvertsFloat16 = HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON;

HWY_INLINE hn::Vec<Floats> from_float16_bits(hn::VFromD<hn::RebindToUnsigned<Floats>> bits) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000U)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffU)));
  const auto special = hn::Gt(magnitude, hn::Set(du, 0x7bffU << 13));
  // 2^112 moves the exponent from float16's bias to float's, for subnormal numbers too.
  const auto number = hn::BitCast(du, hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112F)));
  const auto infinite = hn::Or(magnitude, hn::Set(du, 0x7f800000U));
  return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(special, infinite, number)));
}

HWY_INLINE hn::VFromD<hn::RebindToUnsigned<Floats>> to_float16_bits(hn::Vec<Floats> v) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const auto bits = hn::BitCast(du, hn::Abs(v));
  const auto sign = hn::ShiftRight<16>(hn::And(hn::BitCast(du, v), hn::Set(du, 0x80000000U)));
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1U));
  const auto rebiased = hn::Sub(bits, hn::Set(du, 112U << 23));
  const auto normal = hn::ShiftRight<13>(hn::Add(rebiased, hn::Add(odd, hn::Set(du, 0xfffU))));
  // Adding 1/2 lets the float adder round to a multiple of 2^-24, float16's least step.
  const auto half = hn::Set(d, 0.5F);
  const auto subnormal = hn::Sub(hn::BitCast(du, hn::Add(hn::Abs(v), half)), hn::BitCast(du, half));
  const auto is_subnormal = hn::RebindMask(du, hn::Lt(hn::Abs(v), hn::Set(d, 0x1p-14F)));
  const auto overflows = hn::RebindMask(du, hn::Ge(hn::Abs(v), hn::Set(d, 65520.0F)));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(v));
  const auto finite = hn::IfThenElse(is_subnormal, subnormal, normal);
  const auto number = hn::IfThenElse(overflows, hn::Set(du, 0x7c00U), finite);
  return hn::Or(sign, hn::IfThenElse(is_nan, hn::Set(du, 0x7e00U), number));
}

// --- between float32 and the bits of a 16-bit type ---

using Bits16 = hn::Rebind<std::uint16_t, Floats>;

HWY_INLINE hn::Vec<Floats> widen(hn::Vec<Bits16> bits, hwy::bfloat16_t) {
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<Floats>(), bits)));
}
HWY_INLINE hn::Vec<Floats> widen(hn::Vec<Bits16> bits, hwy::float16_t) {
  if constexpr (kConvertsFloat16) {
    return hn::PromoteTo(Floats(), hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), bits));
  } else {
    return from_float16_bits(hn::PromoteTo(hn::RebindToUnsigned<Floats>(), bits));
  }
}

HWY_INLINE hn::Vec<Bits16> narrow(hn::Vec<Floats> v, hwy::bfloat16_t) {
  // To nearest, ties to even; NaN must not round to infinity.
  const hn::RebindToUnsigned<Floats> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffU))));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(v));
  return hn::TruncateTo(Bits16(), hn::IfThenElse(is_nan, hn::Set(du, 0x7fc0U), rounded));
}
HWY_INLINE hn::Vec<Bits16> narrow(hn::Vec<Floats> v, hwy::float16_t) {
  if constexpr (kConvertsFloat16) {
    return hn::BitCast(Bits16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, Floats>(), v));
  } else {
    return hn::TruncateTo(Bits16(), to_float16_bits(v));
  }
}

// --- whole vectors ---

HWY_INLINE hn::Vec<Floats> load_floats(const float* from) { return hn::LoadU(Floats(), from); }
template <typename T>
HWY_INLINE hn::Vec<Floats> load_floats(const T* from) {
  return widen(hn::LoadU(Bits16(), reinterpret_cast<const std::uint16_t*>(from)), T{});
}

HWY_INLINE void store_floats(hn::Vec<Floats> v, float* to) { hn::StoreU(v, Floats(), to); }
template <typename T>
HWY_INLINE void store_floats(hn::Vec<Floats> v, T* to) {
  hn::StoreU(narrow(v, T{}), Bits16(), reinterpret_cast<std::uint16_t*>(to));
}

// --- the first n < kLanes elements of a row's end: never touches memory past the row ---

// Whether a masked access leaves the memory behind the mask alone; AVX2 has none for 16-bit elements.
template <typename T>
constexpr bool kMaskedAccessIsSafe = HWY_MEM_OPS_MIGHT_FAULT == 0 && (sizeof(T) == 4 || HWY_TARGET <= HWY_AVX3);

// Zeros behind the elements.
template <typename T>
HWY_INLINE hn::Vec<Floats> load_tail(const T* from, std::int64_t n) {
  if constexpr (!kMaskedAccessIsSafe<T>) {
    HWY_ALIGN T buffer[kLanes] = {};
    std::copy_n(from, n, buffer);
    return load_floats(buffer);
  } else if constexpr (std::is_same_v<T, float>) {
    return hn::MaskedLoad(hn::FirstN(Floats(), n), Floats(), from);
  } else {
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    return widen(hn::MaskedLoad(hn::FirstN(Bits16(), n), Bits16(), bits), T{});
  }
}

template <typename T>
HWY_INLINE void store_tail(hn::Vec<Floats> v, T* to, std::int64_t n) {
  if constexpr (!kMaskedAccessIsSafe<T>) {
    HWY_ALIGN T buffer[kLanes];
    store_floats(v, buffer);
    std::copy_n(buffer, n, to);
  } else if constexpr (std::is_same_v<T, float>) {
    hn::BlendedStore(v, hn::FirstN(Floats(), n), Floats(), to);
  } else {
    hn::BlendedStore(narrow(v, T{}), hn::FirstN(Bits16(), n), Bits16(), reinterpret_cast<std::uint16_t*>(to));
  }
}

template <typename T>
HWY_INLINE void store_row(const float* row, T* to, std::int64_t dim) {
  std::int64_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) store_floats(hn::LoadU(Floats(), row + i), to + i);
  if (i < dim) store_tail(hn::LoadU(Floats(), row + i), to + i, dim - i);
}

}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
