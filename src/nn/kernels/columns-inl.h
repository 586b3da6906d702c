// Walks over the columns of a row of floats, a vector at a time. Included once per instruction set.

#include <cstdint>

#if defined(QUEST_NN_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_NN_KERNELS_COLUMNS_INL_H_
#undef QUEST_NN_KERNELS_COLUMNS_INL_H_
#else
#define QUEST_NN_KERNELS_COLUMNS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::nn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cpu = quest::kernels::cpu::HWY_NAMESPACE;

using cpu::Floats;
using cpu::kLanes;
using Vector = hn::Vec<Floats>;

// How the vector at some column is read and written.
struct WholeVector {
  static HWY_INLINE Vector load(const float* from) { return hn::LoadU(Floats(), from); }
  static HWY_INLINE void store(Vector v, float* to) { hn::StoreU(v, Floats(), to); }
};
struct RowEnd {
  std::int64_t count;
  [[nodiscard]] HWY_INLINE Vector load(const float* from) const { return cpu::load_tail(from, count); }
  HWY_INLINE void store(Vector v, float* to) const { cpu::store_tail(v, to, count); }
};

template <typename Visit>
HWY_INLINE void for_each_column(std::int64_t dim, const Visit& visit) {
  std::int64_t column = 0;
  for (; column + kLanes <= dim; column += kLanes) visit(column, WholeVector{});
  if (column < dim) visit(column, RowEnd{dim - column});
}

// NaN stays NaN in both.
HWY_INLINE Vector relu(Vector x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(Floats())), x); }
HWY_INLINE Vector where_positive(Vector x, Vector y) { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(Floats())), y); }

// 1 / (1 + exp(-x)), with a relative error under 3e-7 down to 2^-125, where it stops; NaN stays NaN.
HWY_INLINE Vector sigmoid(Vector x) {
  const Floats d;
  const auto one = hn::Set(d, 1.0F);
  const auto most = hn::Set(d, -cpu::kLeastExponent);
  const auto exponent = hn::Mul(x, hn::Set(d, -cpu::kLog2E));
  const auto limited = hn::IfThenElse(hn::Gt(exponent, most), most, exponent);
  return hn::Div(one, hn::Add(one, cpu::exp2_or_zero(d, limited)));
}

}  // namespace quest::nn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
