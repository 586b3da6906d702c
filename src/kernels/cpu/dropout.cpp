// The dropout factors of one head written out, for those who need the matrix: the reference and the tests.

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace {

void fill_factors(float dropout_p, std::uint64_t seed, std::int64_t batch, std::int64_t head, std::int64_t queries,
                  std::int64_t keys, float* keep) {
  const Floats d;
  for (std::int64_t i = 0; i < queries; ++i, keep += keys) {
    const DropoutRow row(seed, batch, head, i);
    for (std::int64_t j = 0; j < keys; j += kLanes) {
      const auto factor = dropout_factor(d, row, static_cast<std::uint32_t>(j), dropout_p);
      keys - j < kLanes ? store_tail(factor, keep + j, keys - j) : store_floats(factor, keep + j);
    }
  }
}

}  // namespace
}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::kernels::cpu {
HWY_EXPORT(fill_factors);

void dropout_factors(float dropout_p, std::uint64_t seed, std::int64_t batch, std::int64_t head, std::int64_t queries,
                     std::int64_t keys, float* keep) {
  HWY_DYNAMIC_DISPATCH(fill_factors)(dropout_p, seed, batch, head, queries, keys, keep);
}

}  // namespace quest::kernels::cpu
#endif
