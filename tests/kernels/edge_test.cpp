// What no ordinary batch contains: empty, hidden, poisoned, tiny and enormous inputs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention.h"
#include "tests/kernels/instruction_sets.h"
#include "tests/kernels/kernel_case.h"
#include "tests/kernels/same.h"
#include "tests/kernels/scalar_reference.h"
#include "tests/testing/closeness.h"

namespace quest::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool all_equal(const std::vector<double>& values, double expected) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == expected; });
}

void scale_key(Buffer& keys, std::int64_t row, double factor) {
  for (std::int64_t b = 0; b < keys.batch(); ++b) {
    for (std::int64_t h = 0; h < keys.heads(); ++h) {
      for (std::int64_t d = 0; d < keys.dim(); ++d) {
        keys.set(b, h, row, d, keys.get(b, h, row, d) * factor);
      }
    }
  }
}

TEST(EdgeCases, PowerOfTwoKeyScaleChangesNoBit) {
  for_each_instruction_set([] {
    for (const double factor : {0x1p-98, 0x1p-1, 0x1p+98}) {
      TestProblem test({.queries = 15, .keys = 33, .dim = 20, .value_dim = 8});
      const KernelResults plain = run_kernels(test, all_at_once());
      scale_key(test.k, 32, factor);
      scale_key(test.k, 0, factor);
      const KernelResults scaled = run_kernels(test, all_at_once());
      EXPECT_TRUE(same(scaled.out, plain.out)) << factor;
      EXPECT_TRUE(same(scaled.grad_q, plain.grad_q)) << factor;
      EXPECT_TRUE(same(scaled.grad_v, plain.grad_v)) << factor;
    }
  });
}

TEST(EdgeCases, ZeroKeyScoresZeroAndGetsNoGradient) {
  for_each_instruction_set([] {
    TestProblem test({.queries = 5, .keys = 17, .dim = 24, .value_dim = 8});
    scale_key(test.k, 3, 0.0);
    const KernelResults actual = run_kernels(test, all_at_once());
    const ScalarResults expected = scalar_attention(test.problem, test.grad_out);
    EXPECT_TRUE(all_close(actual.out.values(), expected.out, {.of_largest = 5e-6}, {2, 2, 5, 8}));
    EXPECT_TRUE(all_close(actual.grad_k.values(), expected.grad_k, {.of_largest = 5e-6}, {2, 2, 17, 24}));
    for (std::int64_t d = 0; d < 24; ++d) {
      EXPECT_EQ(actual.grad_k.get(1, 1, 3, d), 0.0);
    }
  });
}

TEST(EdgeCases, HalfPrecisionExtremesNormalise) {
  for_each_instruction_set([] {
    for (const double magnitude : {6e4, 6e-8}) {
      TestProblem test({.queries = 5, .keys = 17, .dim = 64, .value_dim = 8, .type = StorageType::float16});
      Random random(3);
      for (std::int64_t d = 0; d < 64; ++d) {
        test.k.set(0, 0, 4, d, random.uniform() < 0.5 ? magnitude : -magnitude);
      }
      const KernelResults actual = run_kernels(test, all_at_once());
      const ScalarResults expected = scalar_attention(test.problem, test.grad_out);
      const Bound bound{.of_largest = 5e-6, .of_value = 1.01 * unit_roundoff(StorageType::float16)};
      EXPECT_TRUE(all_close(actual.out.values(), expected.out, bound, {2, 2, 5, 8})) << magnitude;
    }
  });
}

// An error of one rounding in a logit of size L is a relative error of L · 2⁻²⁴ in its weight.
TEST(EdgeCases, AnyQueryNormKeepsTheSoftmaxAccurate) {
  for_each_instruction_set([] {
    for (const double norm : {1e-3, 1.0, 30.0, 100.0, 1e3, 1e4}) {
      TestProblem test({.queries = 17, .keys = 65, .dim = 32, .value_dim = 16});
      test.problem.scale = 1.0F;
      for (std::int64_t row = 0; row < 17; ++row) {
        scale_key(test.q, row, norm / std::sqrt(32.0));
      }
      const KernelResults actual = run_kernels(test, all_at_once());
      const ScalarResults expected = scalar_attention(test.problem, test.grad_out);
      const Bound bound{.of_largest = 5e-6 + 4.0 * norm * 0x1p-24};
      EXPECT_TRUE(all_close(actual.out.values(), expected.out, bound, {2, 2, 17, 16})) << norm;
      EXPECT_TRUE(all_close(actual.grad_q.values(), expected.grad_q, bound, {2, 2, 17, 32})) << norm;
      EXPECT_TRUE(all_close(actual.grad_k.values(), expected.grad_k, bound, {2, 2, 65, 32})) << norm;
      EXPECT_TRUE(all_close(actual.grad_v.values(), expected.grad_v, bound, {2, 2, 65, 16})) << norm;
    }
  });
}

TEST(EdgeCases, PaddedKeysMayHoldAnything) {
  for_each_instruction_set([] {
    for (const double poison : {kNaN, std::numeric_limits<double>::infinity()}) {
      TestProblem test({.queries = 17, .keys = 33, .dim = 20, .value_dim = 12, .lengths = LengthKind::key_lengths});
      const KernelResults clean = run_kernels(test, all_at_once());
      for (std::int64_t row = test.key_lengths[0]; row < 33; ++row) {
        for (std::int64_t h = 0; h < 2; ++h) {
          test.k.set(0, h, row, 7, poison);
          test.v.set(0, h, row, 7, poison);
        }
      }
      const KernelResults poisoned = run_kernels(test, all_at_once());
      EXPECT_TRUE(same(poisoned.out, clean.out));
      EXPECT_TRUE(same(poisoned.grad_q, clean.grad_q));
      EXPECT_TRUE(same(poisoned.grad_k, clean.grad_k));
      EXPECT_TRUE(same(poisoned.grad_v, clean.grad_v));
      EXPECT_EQ(poisoned.key_mass, clean.key_mass);
    }
  });
}

TEST(EdgeCases, NothingToAttendGivesZero) {
  for_each_instruction_set([] {
    const TestProblem test({.queries = 5, .keys = 0, .dim = 8, .value_dim = 8});
    const KernelResults results = run_kernels(test, all_at_once());
    EXPECT_TRUE(all_equal(results.out.values(), 0.0));
    EXPECT_TRUE(all_equal(results.grad_q.values(), 0.0));
    EXPECT_TRUE(std::all_of(results.lse.begin(), results.lse.end(), [](float lse) { return lse == -INFINITY; }));
  });
}

TEST(EdgeCases, NobodyAttendingGivesNoGradient) {
  for_each_instruction_set([] {
    const TestProblem test({.queries = 0, .keys = 5, .dim = 8, .value_dim = 8});
    const KernelResults results = run_kernels(test, all_at_once());
    EXPECT_TRUE(all_equal(results.grad_k.values(), 0.0));
    EXPECT_TRUE(all_equal(results.grad_v.values(), 0.0));
  });
}

TEST(Dropout, KeepsTheStatedShareAndScalesIt) {
  constexpr std::int64_t kSide = 200;
  std::vector<float> keep(kSide * kSide);
  for (const float p : {0.1F, 0.5F, 0.9F}) {
    kernels::cpu::dropout_factors(p, 7, 0, 0, kSide, kSide, keep.data());
    const auto kept = static_cast<double>(std::count(keep.begin(), keep.end(), 1.0F / (1.0F - p)));
    const auto dropped = static_cast<double>(std::count(keep.begin(), keep.end(), 0.0F));
    EXPECT_EQ(kept + dropped, keep.size()) << "a factor is neither 0 nor 1 / (1 - p)";
    const double deviation = std::sqrt(p * (1.0 - p) / static_cast<double>(keep.size()));
    EXPECT_NEAR(dropped / static_cast<double>(keep.size()), p, 5.0 * deviation);
  }
}

TEST(Dropout, DependsOnSeedBatchAndHead) {
  const auto factors = [](std::uint64_t seed, std::int64_t batch, std::int64_t head) {
    std::vector<float> keep(33 * 17);
    kernels::cpu::dropout_factors(0.5F, seed, batch, head, 33, 17, keep.data());
    return keep;
  };
  EXPECT_EQ(factors(1, 2, 3), factors(1, 2, 3));
  EXPECT_NE(factors(1, 2, 3), factors(2, 2, 3));
  EXPECT_NE(factors(1, 2, 3), factors(1, 3, 3));
  EXPECT_NE(factors(1, 2, 3), factors(1, 2, 4));
  EXPECT_NE(factors(1, 2, 3), factors(1ULL << 32U | 1U, 2, 3)) << "the seed's upper half is ignored";
}

// A weak generator shows as neighbours that agree too often.
TEST(Dropout, NeighboursAreIndependent) {
  constexpr std::int64_t kSide = 256;
  std::vector<float> keep(kSide * kSide);
  kernels::cpu::dropout_factors(0.5F, 11, 1, 1, kSide, kSide, keep.data());
  for (const std::size_t lag : {1U, 4U, 8U, 16U, 256U}) {
    double agreements = 0.0;
    for (std::size_t i = lag; i < keep.size(); ++i) {
      agreements += keep[i] == keep[i - lag] ? 1.0 : 0.0;
    }
    const auto pairs = static_cast<double>(keep.size() - lag);
    EXPECT_NEAR(agreements / pairs, 0.5, 5.0 * 0.5 / std::sqrt(pairs)) << "lag " << lag;
  }
}

}  // namespace
}  // namespace quest::testing
