// Additive masks of any finite size: beside them a logit keeps few digits of its score or none, and weights that a
// backward computes anew still have to be those of the forward.

#include "tests/kernels/large_mask.h"

#include <gtest/gtest.h>

#include "tests/kernels/instruction_sets.h"
#include "tests/kernels/kernel_case.h"
#include "tests/kernels/scalar_reference.h"
#include "tests/testing/closeness.h"

namespace quest::testing {
namespace {

class LargeMasks : public ::testing::TestWithParam<KernelCase> {};

TEST_P(LargeMasks, GiveTheForwardsWeightsToEveryPass) {
  TestProblem test(GetParam());
  make_scores_exact(test);
  const kernels::AttentionProblem& p = test.problem;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    fill_with_large_numbers(test, seed);
    const ScalarResults exact = scalar_attention(p, test.grad_out);
    for_each_instruction_set([&] {
      const KernelResults actual = run_kernels(test, all_at_once());
      const Bound row{.of_largest = 1e-5, .absolute = 1e-6};
      const Bound stored{.of_largest = 1e-5, .of_value = 1.01 * unit_roundoff(p.type)};
      const ScalarResults expected =
          p.type == StorageType::float32 ? exact : scalar_attention(p, test.grad_out, actual.out);
      const std::vector<std::int64_t> by_query{p.batch, p.heads, p.queries};
      const auto widened = [](const std::vector<float>& x) { return std::vector<double>(x.begin(), x.end()); };
      EXPECT_TRUE(all_close(actual.out.values(), exact.out, stored, {p.batch, p.heads, p.queries, p.value_dim}));
      EXPECT_TRUE(all_close(widened(actual.lse), exact.lse, {.of_value = 1e-6, .absolute = 1e-5}, by_query)) << "lse";
      EXPECT_TRUE(all_close(widened(actual.entropy), exact.entropy, row, by_query)) << "entropy";
      EXPECT_TRUE(all_close(widened(actual.key_mass), exact.key_mass, row, {p.batch, p.heads, p.keys})) << "key_mass";
      EXPECT_TRUE(all_close(actual.grad_q.values(), expected.grad_q, stored, {p.batch, p.heads, p.queries, p.dim}));
      EXPECT_TRUE(all_close(actual.grad_k.values(), expected.grad_k, stored, {p.batch, p.kv_heads, p.keys, p.dim}));
      EXPECT_TRUE(
          all_close(actual.grad_v.values(), expected.grad_v, stored, {p.batch, p.kv_heads, p.keys, p.value_dim}));
      EXPECT_TRUE(
          all_close(widened(actual.grad_mask), mask_gradient(test, expected.grad_logits), row,
                    {test.additive_mask.batch(), test.additive_mask.heads(), test.additive_mask.rows(), p.keys}))
          << "grad_mask";
    });
  }
}

std::vector<KernelCase> large_mask_cases() {
  return {
      {.queries = 50, .keys = 50, .mask = MaskKind::additive_float32},
      {.queries = 3, .keys = 1100, .dim = 16, .value_dim = 24, .mask = MaskKind::additive_row},
      {.queries = 33,
       .keys = 65,
       .dim = 64,
       .value_dim = 5,
       .kv_heads = 1,
       .gain = GainKind::head_and_dim,
       .mask = MaskKind::additive_float32,
       .lengths = LengthKind::key_lengths},
      {.queries = 100, .keys = 17, .mask = MaskKind::additive_float32, .dropout = 0.25F},
      {.queries = 33, .keys = 65, .normalize_k = false, .mask = MaskKind::additive_row, .dropout = 0.25F},
      {.queries = 33, .keys = 65, .type = StorageType::bfloat16, .mask = MaskKind::additive_stored},
      {.queries = 33, .keys = 65, .type = StorageType::float16, .mask = MaskKind::additive_stored},
      {.queries = 1, .keys = 1, .mask = MaskKind::additive_float32},
  };
}

std::string case_name(const ::testing::TestParamInfo<KernelCase>& info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(AnyFiniteSize, LargeMasks, ::testing::ValuesIn(large_mask_cases()), case_name);

}  // namespace
}  // namespace quest::testing
