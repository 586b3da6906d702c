// Statistics: the kernel's, the reference's and the plain formula's numbers are the same.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/attention/attention_case.h"
#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

AttentionResult with_stats(const AttentionInputs& inputs, AttentionPath path) {
  AttentionOptions options = inputs.options;
  options.path = path;
  return attention_with_stats(inputs.q, inputs.k, inputs.v, options);
}

void expect_close(const AttentionStats& actual, const AttentionStats& expected, const Bound& bound) {
  EXPECT_TRUE(close(actual.lse, expected.lse, bound)) << "lse";
  EXPECT_TRUE(close(actual.max_logit, expected.max_logit, bound)) << "max_logit";
  EXPECT_TRUE(close(actual.entropy, expected.entropy, bound)) << "entropy";
  EXPECT_TRUE(close(actual.q_norm, expected.q_norm, bound)) << "q_norm";
  EXPECT_TRUE(close(actual.k_norm, expected.k_norm, bound)) << "k_norm";
  EXPECT_TRUE(close(actual.key_mass, expected.key_mass, bound)) << "key_mass";
}

class Statistics : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Statistics, OfTheKernelAreThoseOfTheFormula) {
  const AttentionInputs inputs = make_inputs(GetParam());
  const AttentionInputs wide = in_double(inputs);
  const AttentionStats exact = oracle_attention(wide.q, wide.k, wide.v, wide.options).stats;
  const AttentionResult best = with_stats(inputs, AttentionPath::automatic);
  const bool is_double = GetParam().type == at::kDouble;
  EXPECT_EQ(best.stats.lse.scalar_type(), is_double ? at::kDouble : at::kFloat);
  expect_close(best.stats, exact, {.of_largest = is_double ? 1e-13 : 5e-6, .absolute = is_double ? 1e-13 : 1e-6});
  EXPECT_FALSE(best.stats.lse.requires_grad());
  EXPECT_TRUE(best.output.requires_grad());
}

TEST_P(Statistics, OfTheReferenceAreThoseOfTheFormula) {
  const AttentionInputs wide = in_double(make_inputs(GetParam()));
  const AttentionStats exact = oracle_attention(wide.q, wide.k, wide.v, wide.options).stats;
  expect_close(with_stats(wide, AttentionPath::reference).stats, exact, {.of_largest = 1e-13, .absolute = 1e-13});
}

TEST_P(Statistics, DoNotChangeTheOutput) {
  const AttentionInputs inputs = make_inputs(GetParam());
  EXPECT_TRUE(identical(with_stats(inputs, AttentionPath::automatic).output,
                        attention(inputs.q, inputs.k, inputs.v, inputs.options)));
}

INSTANTIATE_TEST_SUITE_P(Options, Statistics, ::testing::ValuesIn(pairwise_attention_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);

TEST(KeyMass, SumsToTheNumberOfQueriesThatSeeSomething) {
  const AttentionInputs inputs = make_inputs(
      {.shape = {.batch = 2, .heads = 3, .queries = 65, .dim = 16, .keys = 33}, .mask = MaskShape::bool_full});
  const at::Tensor seeing = inputs.options.mask.any(-1).sum(-1).to(at::kFloat);
  const AttentionStats stats = with_stats(inputs, AttentionPath::automatic).stats;
  EXPECT_TRUE(close(stats.key_mass.sum(-1), seeing, {.of_largest = 2e-6}));
}

TEST(Entropy, OfEqualLogitsIsTheLogOfTheirNumber) {
  const at::Tensor q = at::randn({1, 2, 5, 16});
  for (const std::int64_t keys : {1, 2, 63, 577}) {
    const at::Tensor k = at::randn({1, 2, 1, 16}).expand({1, 2, keys, 16});
    const AttentionStats stats = attention_with_stats(q, k, k).stats;
    EXPECT_TRUE(close(stats.entropy, at::full({1, 2, 5}, std::log(keys)), {.absolute = 3e-6})) << keys;
  }
}

TEST(Entropy, OfAOneHotRowIsZero) {
  const at::Tensor k = at::randn({1, 1, 40, 32});
  const AttentionStats stats = attention_with_stats(k.slice(2, 0, 5) * 1e4, k, k).stats;
  EXPECT_TRUE(close(stats.entropy, at::zeros({1, 1, 5}), {.absolute = 1e-6}));
}

TEST(MaskedRows, HaveNoLogitsNoEntropyNoMass) {
  const at::Tensor x = at::randn({1, 2, 9, 16});
  for (const AttentionPath path : {AttentionPath::fused, AttentionPath::reference}) {
    AttentionOptions options{.mask = at::zeros({9, 9}, at::kBool)};
    options.path = path;
    const AttentionStats stats = attention_with_stats(x, x, x, options).stats;
    const at::Tensor nothing = at::full({1, 2, 9}, -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(close(stats.lse, nothing, kExact));
    EXPECT_TRUE(close(stats.max_logit, nothing, kExact));
    EXPECT_TRUE(all_zero(stats.entropy));
    EXPECT_TRUE(all_zero(stats.key_mass));
  }
}

TEST(MaxLogit, OfQuestNeverExceedsTheQueryNorm) {
  const AttentionStats stats =
      attention_with_stats(at::randn({2, 3, 50, 24}), at::randn({2, 3, 60, 24}) * 1e3, at::randn({2, 3, 60, 8})).stats;
  EXPECT_TRUE((stats.max_logit <= stats.q_norm * (1.0 + 1e-6)).all().item<bool>());
}

}  // namespace
}  // namespace quest::testing
