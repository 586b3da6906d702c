// Layer norm, unit vectors, GELU and softmax over lanes. Included once per instruction set.

#include <cstdint>

#if defined(QUEST_TOY_LANE_LAYERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_TOY_LANE_LAYERS_INL_H_
#undef QUEST_TOY_LANE_LAYERS_INL_H_
#else
#define QUEST_TOY_LANE_LAYERS_INL_H_
#endif

#include "domains/toy/engine/cpu/lane_algebra-inl.h"
#include "domains/toy/engine/model.h"
#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::toy::engine::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using kernels::cpu::HWY_NAMESPACE::exp2_or_zero;
using kernels::cpu::HWY_NAMESPACE::kLog2E;

using engine::kWidth;
constexpr float kNormEpsilon = 1e-5F;
constexpr float kLeastSquaredNorm = 1e-24F;  // of a vector that is divided by its norm

HWY_INLINE LaneVector inverse_root(LaneVector x) { return hn::Div(all_lanes(1.0F), hn::Sqrt(x)); }

HWY_INLINE LaneVector dot(const float* a, const float* b) {
  LaneSum sum;
  HWY_UNROLL(kWidth)
  for (int i = 0; i < kWidth; ++i) sum.add_product(i, load(a, i), load(b, i));
  return sum.total();
}

// Rows of kWidth elements. `factor` is followed by the offsets; the gradient has the same layout.
struct LaneNorm {
  const float* factor;
  float* gradient;

  // Keeps (x - mean)/deviation in `hat` and returns 1/deviation. y may be x.
  HWY_INLINE LaneVector forward(const float* x, float* hat, float* y) const {
    constexpr float kShare = 1.0F / kWidth;
    LaneSum sum;
    HWY_UNROLL(kWidth)
    for (int i = 0; i < kWidth; ++i) sum.add(i, load(x, i));
    const auto mean = hn::Mul(sum.total(), all_lanes(kShare));
    LaneSum squares;
    HWY_UNROLL(kWidth)
    for (int i = 0; i < kWidth; ++i) {
      const auto centred = hn::Sub(load(x, i), mean);
      store(centred, hat, i);
      squares.add_product(i, centred, centred);
    }
    const auto inverse = inverse_root(hn::MulAdd(squares.total(), all_lanes(kShare), all_lanes(kNormEpsilon)));
    for (int i = 0; i < kWidth; ++i) {
      const auto normal = hn::Mul(load(hat, i), inverse);
      store(normal, hat, i);
      store(hn::MulAdd(normal, load(factor, i), load(factor, kWidth + i)), y, i);
    }
    return inverse;
  }

  // dx += the gradient with respect to x.
  HWY_INLINE void backward(const float* dy, const float* hat, LaneVector inverse, float* dx) const {
    LaneSum sums;
    LaneSum products;
    HWY_UNROLL(kWidth)
    for (int i = 0; i < kWidth; ++i) {
      const auto upstream = load(dy, i);
      const auto normal = load(hat, i);
      add_to(hn::Mul(upstream, normal), gradient, i);
      add_to(upstream, gradient, kWidth + i);
      const auto g = hn::Mul(upstream, load(factor, i));
      sums.add(i, g);
      products.add_product(i, g, normal);
    }
    const auto share = all_lanes(1.0F / kWidth);
    const auto sum = hn::Mul(sums.total(), share);
    const auto along = hn::Mul(products.total(), share);
    for (int i = 0; i < kWidth; ++i) {
      const auto g = hn::MulSub(load(dy, i), load(factor, i), sum);
      add_to(hn::Mul(inverse, hn::NegMulAdd(along, load(hat, i), g)), dx, i);
    }
  }
};

// Divides a row by its norm in place and returns 1/norm.
HWY_INLINE LaneVector make_unit(float* row) {
  const auto inverse = inverse_root(hn::Max(dot(row, row), all_lanes(kLeastSquaredNorm)));
  for (int i = 0; i < kWidth; ++i) store(hn::Mul(load(row, i), inverse), row, i);
  return inverse;
}

// The normal distribution function, to 1.5e-7: one minus a polynomial in 1/(1 + p|x|/√2) times e^(-x²/2).
struct NormalLaw {
  LaneVector below;    // Φ(x)
  LaneVector density;  // e^(-x²/2)/√(2π)

  explicit HWY_INLINE NormalLaw(LaneVector x) {
    const auto bell = exp2_or_zero(LaneTag(), hn::Mul(hn::Mul(x, x), all_lanes(-0.5F * kLog2E)));
    const auto t =
        hn::Div(all_lanes(1.0F), hn::MulAdd(hn::Abs(x), all_lanes(0.3275911F * 0.70710678F), all_lanes(1.0F)));
    auto p = hn::MulAdd(all_lanes(1.061405429F), t, all_lanes(-1.453152027F));
    p = hn::MulAdd(p, t, all_lanes(1.421413741F));
    p = hn::MulAdd(p, t, all_lanes(-0.284496736F));
    p = hn::MulAdd(p, t, all_lanes(0.254829592F));
    const auto tail = hn::Mul(hn::Mul(all_lanes(0.5F), hn::Mul(p, t)), bell);
    below = hn::IfThenElse(hn::Lt(x, hn::Zero(LaneTag())), tail, hn::Sub(all_lanes(1.0F), tail));
    density = hn::Mul(bell, all_lanes(0.39894228F));
  }
};

HWY_INLINE LaneVector gelu(LaneVector x) { return hn::Mul(x, NormalLaw(x).below); }

HWY_INLINE LaneVector gelu_slope(LaneVector x) {
  const NormalLaw law(x);
  return hn::MulAdd(x, law.density, law.below);
}

struct SoftmaxSums {
  LaneVector max;
  LaneVector sum;  // of exp(x - max)
};

HWY_INLINE SoftmaxSums softmax(const float* x, std::int64_t count, float* probability) {
  auto max = load(x, 0);
  for (std::int64_t i = 1; i < count; ++i) max = hn::Max(max, load(x, i));
  auto sum = hn::Zero(LaneTag());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto e = exp2_or_zero(LaneTag(), hn::Mul(hn::Sub(load(x, i), max), all_lanes(kLog2E)));
    store(e, probability, i);
    sum = hn::Add(sum, e);
  }
  const auto inverse = hn::Div(all_lanes(1.0F), sum);
  for (std::int64_t i = 0; i < count; ++i) store(hn::Mul(load(probability, i), inverse), probability, i);
  return {max, sum};
}

}  // namespace quest::toy::engine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
