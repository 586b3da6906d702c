// Update rules of optimisers: elementwise, limited by memory, so every buffer is read and written once per step.

#include "kernels/cpu/optimizer.h"

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"
#include "kernels/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

static_assert(kOptimizerUnit % kLanes == 0);

using Vector = hn::Vec<Floats>;

HWY_INLINE Vector all(double x) { return hn::Set(Floats(), static_cast<float>(x)); }

// Squares are summed in double: those of floats overflow float.
struct SquareSum {
  using Doubles = hn::ScalableTag<double>;
  hn::Vec<Doubles> low;
  hn::Vec<Doubles> high;

  // A defaulted constructor would not be compiled for the instruction set.
  HWY_INLINE SquareSum() : low(hn::Zero(Doubles())), high(hn::Zero(Doubles())) {}

  HWY_INLINE void add(Vector x) {
    const Doubles d;
    const hn::Half<Floats> half;
    const auto a = hn::PromoteTo(d, hn::LowerHalf(half, x));
    const auto b = hn::PromoteTo(d, hn::UpperHalf(half, x));
    low = hn::MulAdd(a, a, low);
    high = hn::MulAdd(b, b, high);
  }
  [[nodiscard]] HWY_INLINE double total() const { return hn::GetLane(hn::SumOfLanes(Doubles(), hn::Add(low, high))); }
};

class AdamArithmetic {
 public:
  HWY_INLINE AdamArithmetic(const AdamStep& step, const AdamRange& range)
      : range_(range),
        adaptive_(step.adaptive),
        keep1_(all(1.0 - step.beta1)),
        keep2_(all(1.0 - step.beta2)),
        l2_(all(step.l2)),
        root_scale_(all(step.root_scale)),
        eps_(all(step.eps)),
        step_size_(all(step.step_size)),
        decay_(all(step.decay)) {}

  struct Moments {
    Vector first, second;
  };

  [[nodiscard]] HWY_INLINE Moments moments(std::int64_t i) const {
    return {hn::LoadU(Floats(), range_.first_moment + i), hn::LoadU(Floats(), range_.second_moment + i)};
  }

  [[nodiscard]] HWY_INLINE Moments updated_moments(std::int64_t i, Vector p) const {
    const Floats d;
    const auto g = hn::MulAdd(l2_, p, hn::LoadU(d, range_.gradient + i));
    const auto [m, v] = moments(i);
    const Moments result{hn::MulAdd(keep1_, hn::Sub(g, m), m), hn::MulAdd(keep2_, hn::MulSub(g, g, v), v)};
    hn::StoreU(result.first, d, range_.first_moment + i);
    hn::StoreU(result.second, d, range_.second_moment + i);
    return result;
  }

  [[nodiscard]] HWY_INLINE Vector direction(const Moments& moments) const {
    if (!adaptive_) return moments.first;
    return hn::Div(moments.first, hn::MulAdd(root_scale_, hn::Sqrt(moments.second), eps_));
  }

  HWY_INLINE void move(std::int64_t i, Vector p, const Moments& moments) const {
    const auto change = hn::MulAdd(step_size_, direction(moments), hn::Mul(decay_, p));
    hn::StoreU(hn::Sub(p, change), Floats(), range_.value + i);
  }

 private:
  AdamRange range_;
  bool adaptive_;
  Vector keep1_, keep2_, l2_, root_scale_, eps_, step_size_, decay_;
};

void adam_range(const AdamStep& step, const AdamRange& range, std::int64_t count) {
  const AdamArithmetic adam(step, range);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto p = hn::LoadU(Floats(), range.value + i);
    adam.move(i, p, adam.updated_moments(i, p));
  }
}

SquareSums adam_moments_range(const AdamStep& step, double weight_decay, const AdamRange& range, std::int64_t count) {
  const AdamArithmetic adam(step, range);
  const auto decay = all(weight_decay);
  SquareSum values;
  SquareSum updates;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto p = hn::LoadU(Floats(), range.value + i);
    values.add(p);
    updates.add(hn::MulAdd(decay, p, adam.direction(adam.updated_moments(i, p))));
  }
  return {values.total(), updates.total()};
}

void adam_move_range(const AdamStep& step, const AdamRange& range, std::int64_t count) {
  const AdamArithmetic adam(step, range);
  for (std::int64_t i = 0; i < count; i += kLanes) adam.move(i, hn::LoadU(Floats(), range.value + i), adam.moments(i));
}

void sgd_range(const SgdStep& step, float* value, const float* gradient, float* buffer, std::int64_t count) {
  const Floats d;
  const auto lr = all(step.lr);
  const auto momentum = all(step.momentum);
  const auto l2 = all(step.l2);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto p = hn::LoadU(d, value + i);
    const auto g = hn::MulAdd(l2, p, hn::LoadU(d, gradient + i));
    const auto b = hn::MulAdd(momentum, hn::LoadU(d, buffer + i), g);
    hn::StoreU(b, d, buffer + i);
    const auto u = step.nesterov ? hn::MulAdd(momentum, b, g) : b;
    hn::StoreU(hn::NegMulAdd(lr, u, p), d, value + i);
  }
}

double sum_of_squares_range(const float* values, std::int64_t count) {
  SquareSum sum;
  for (std::int64_t i = 0; i < count; i += kLanes) sum.add(hn::LoadU(Floats(), values + i));
  return sum.total();
}

}  // namespace
}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::kernels::cpu {
HWY_EXPORT(adam_range);
HWY_EXPORT(adam_moments_range);
HWY_EXPORT(adam_move_range);
HWY_EXPORT(sgd_range);
HWY_EXPORT(sum_of_squares_range);

void adam(const AdamStep& step, const AdamRange& range, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(adam_range)(step, range, count);
}

SquareSums adam_moments(const AdamStep& step, double weight_decay, const AdamRange& range, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(adam_moments_range)(step, weight_decay, range, count);
}

void adam_move(const AdamStep& step, const AdamRange& range, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(adam_move_range)(step, range, count);
}

void sgd(const SgdStep& step, float* value, const float* gradient, float* buffer, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(sgd_range)(step, value, gradient, buffer, count);
}

double sum_of_squares(const float* values, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_range)(values, count);
}

}  // namespace quest::kernels::cpu
#endif
