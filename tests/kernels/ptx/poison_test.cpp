// What no ordinary batch contains, through the loops that kernels keep for it.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/ptx/comparison.h"
#include "tests/kernels/ptx/families.h"
#include "tests/kernels/ptx/run_cuda_kernels.h"
#include "tests/kernels/scalar_reference.h"
#include "tests/testing/closeness.h"

namespace quest::testing {
namespace {

using kernels::Causal;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class Poison : public ::testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Families, Poison, ::testing::ValuesIn(kFamilies), family_name);

void set_row(Buffer& rows, std::int64_t row, double value) {
  for (std::int64_t d = 0; d < rows.dim(); ++d) rows.set(0, 0, row, d, value);
}

// Relative to the largest element: another loop may round otherwise.
double tolerance(StorageType type) { return type == StorageType::float32 ? 1e-5 : 4.0 * unit_roundoff(type); }

void expect_row(const Buffer& actual, const Buffer& expected, std::int64_t row, double size, const char* what) {
  for (std::int64_t d = 0; d < actual.dim(); ++d) {
    EXPECT_NEAR(actual.get(0, 0, row, d), expected.get(0, 0, row, d), size * tolerance(actual.type()))
        << what << " of row " << row;
  }
}

TEST_P(Poison, ANaNReachesOnlyTheQueriesThatSeeIt) {
  TestProblem test(GetParam().test(Causal::top_left));
  const KernelResults clean = run_cuda_kernels(test, GetParam().gpu);
  const std::int64_t poisoned = 2 * GetParam().length / 3;
  set_row(test.k, poisoned, kNaN);
  set_row(test.v, poisoned, kNaN);
  const KernelResults actual = run_cuda_kernels(test, GetParam().gpu);
  const double output = largest_magnitude(clean.out.values());
  const double gradient = largest_magnitude(clean.grad_q.values());
  for (std::int64_t row = 0; row < poisoned; ++row) {
    expect_row(actual.out, clean.out, row, output, "output");
    expect_row(actual.grad_q, clean.grad_q, row, gradient, "grad_q");
  }
  for (std::int64_t row = poisoned; row < GetParam().length; ++row) {
    for (std::int64_t d = 0; d < GetParam().dim; ++d) {
      ASSERT_TRUE(std::isnan(actual.out.get(0, 0, row, d))) << "output of row " << row;
      ASSERT_TRUE(std::isnan(actual.grad_q.get(0, 0, row, d))) << "grad_q of row " << row;
    }
  }
}

TEST_P(Poison, ZeroKeysScoreZeroAndGetNoGradient) {
  TestProblem test(GetParam().test(Causal::none));
  for (std::int64_t row = 0; row < GetParam().length; row += 3) set_row(test.k, row, 0.0);
  const KernelResults actual = run_cuda_kernels(test, GetParam().gpu);
  expect_scalar_results(test, actual);
  for (std::int64_t row = 0; row < GetParam().length; row += 3) {
    for (std::int64_t d = 0; d < GetParam().dim; ++d) ASSERT_EQ(actual.grad_k.get(0, 0, row, d), 0.0) << row;
  }
}

// The bound on logits is then too wide for weights without a maximum: blocks begin again with one.
TEST_P(Poison, SharpQueriesAndOppositeKeysStayFinite) {
  TestProblem test(GetParam().test(Causal::none));
  test.problem.scale = 1.0F;
  const double side = 1.0 / std::sqrt(static_cast<double>(GetParam().dim));
  Random random(5);
  for (std::int64_t row = 0; row < GetParam().length; ++row) {
    for (std::int64_t d = 0; d < GetParam().dim; ++d) {
      test.q.set(0, 0, row, d, -250.0 * side + 0.1 * random.normal());
      test.k.set(0, 0, row, d, side + 0.01 * random.normal());
    }
  }
  const KernelResults actual = run_cuda_kernels(test, GetParam().gpu);
  for (const float lse : actual.lse) ASSERT_LT(lse, -100.0F);
  for (const Buffer* rows : {&actual.out, &actual.grad_q, &actual.grad_k, &actual.grad_v}) {
    for (const double x : rows->values()) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(Hidden, KeysMayHoldAnything) {
  for (const StorageType type : {StorageType::bfloat16, StorageType::float16, StorageType::float32}) {
    for (const std::int64_t dim : {16, 64, 128, 192}) {
      SCOPED_TRACE(dim);
      TestProblem test({.queries = 70,
                        .keys = 150,
                        .dim = dim,
                        .value_dim = dim,
                        .kv_heads = 1,
                        .heads = 1,
                        .type = type,
                        .lengths = LengthKind::key_lengths});
      const KernelResults clean = run_cuda_kernels(test, kA100);
      for (std::int64_t row = test.key_lengths[0]; row < 150; ++row) {
        set_row(test.k, row, kNaN);
        set_row(test.v, row, std::numeric_limits<double>::infinity());
      }
      const KernelResults actual = run_cuda_kernels(test, kA100);
      for (std::int64_t row = 0; row < 70; ++row) {
        expect_row(actual.out, clean.out, row, largest_magnitude(clean.out.values()), "output");
        expect_row(actual.grad_q, clean.grad_q, row, largest_magnitude(clean.grad_q.values()), "grad_q");
      }
      for (std::int64_t row = test.key_lengths[0]; row < 150; ++row) {
        for (std::int64_t d = 0; d < dim; ++d) {
          ASSERT_EQ(actual.grad_k.get(0, 0, row, d), 0.0);
          ASSERT_EQ(actual.grad_v.get(0, 0, row, d), 0.0);
        }
      }
    }
  }
}

TEST(Float16, RowsOf60000Normalise) {
  for (const double magnitude : {6e4, 6e-8}) {
    TestProblem test({.queries = 17, .keys = 70, .dim = 64, .value_dim = 64, .type = StorageType::float16});
    Random random(3);
    for (std::int64_t d = 0; d < 64; ++d) test.k.set(0, 0, 4, d, random.uniform() < 0.5 ? magnitude : -magnitude);
    const KernelResults actual = run_cuda_kernels(test, kA100);
    const ScalarResults exact = scalar_attention(test.problem, test.grad_out);
    EXPECT_TRUE(all_close(actual.out.values(), exact.out, {.of_largest = 1.5 * unit_roundoff(StorageType::float16)},
                          {2, 2, 17, 64}))
        << magnitude;
  }
}

}  // namespace
}  // namespace quest::testing
