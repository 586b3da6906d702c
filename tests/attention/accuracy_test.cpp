// The fused path and the library's reference against the plain formula in float64, on the same rounded inputs.
// The bounds are stated at output_bound() and expect_exact().

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/attention/attention_case.h"
#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

class Accuracy : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Accuracy, OfTheBestPath) {
  const AttentionInputs inputs = make_inputs(GetParam());
  const bool fused = GetParam().type != at::kDouble;
  const AttentionOutcome actual = differentiate(inputs, fused ? AttentionPath::fused : AttentionPath::automatic);
  EXPECT_EQ(actual.output.scalar_type(), GetParam().type);
  expect_exact(inputs, actual);
}

INSTANTIATE_TEST_SUITE_P(Options, Accuracy, ::testing::ValuesIn(pairwise_attention_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);
INSTANTIATE_TEST_SUITE_P(Shapes, Accuracy, ::testing::ValuesIn(shape_attention_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);

class ReferenceAccuracy : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(ReferenceAccuracy, InDouble) {
  const AttentionInputs inputs = in_double(make_inputs(GetParam()));
  expect_exact(inputs, differentiate(inputs, AttentionPath::reference));
}

INSTANTIATE_TEST_SUITE_P(Options, ReferenceAccuracy, ::testing::ValuesIn(pairwise_attention_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);

// Whatever a caller leaves out of the gradient must not change the rest.
TEST(Gradients, AreTheSameWhenOnlySomeAreAskedFor) {
  const AttentionInputs all = make_inputs({.shape = {.batch = 2, .heads = 2, .queries = 33, .dim = 24},
                                           .formulation = formulations::qknorm,
                                           .gain = GainShape::heads_and_dims,
                                           .mask = MaskShape::additive_full});
  const AttentionOutcome expected = differentiate(all, AttentionPath::fused);
  for (int wanted = 0; wanted < 5; ++wanted) {
    SCOPED_TRACE(wanted);
    std::vector<at::Tensor> leaves{all.q, all.k, all.v, all.options.gain, all.options.mask};
    for (int i = 0; i < 5; ++i) {
      leaves[static_cast<std::size_t>(i)] = leaves[static_cast<std::size_t>(i)].detach().requires_grad_(i == wanted);
    }
    AttentionOptions options = all.options;
    options.gain = leaves[3];
    options.mask = leaves[4];
    const at::Tensor output = attention(leaves[0], leaves[1], leaves[2], options);
    const at::Tensor actual =
        torch::autograd::grad({output}, {leaves[static_cast<std::size_t>(wanted)]}, {all.grad_out})[0];
    const std::vector<at::Tensor> known{expected.grad_q, expected.grad_k, expected.grad_v, expected.grad_gain,
                                        expected.grad_mask};
    EXPECT_TRUE(identical(actual, known[static_cast<std::size_t>(wanted)]));
  }
}

TEST(Gradients, ReachABroadcastView) {
  torch::manual_seed(3);
  at::Tensor base = at::randn({1, 2, 9, 16}).requires_grad_();
  const at::Tensor q = at::randn({3, 2, 5, 16});
  const at::Tensor v = at::randn({3, 2, 9, 8});
  attention(q, base.expand({3, 2, 9, 16}), v).sum().backward();
  at::Tensor wide = base.detach().to(at::kDouble).requires_grad_();
  oracle_attention(q.to(at::kDouble), wide.expand({3, 2, 9, 16}), v.to(at::kDouble), {}).output.sum().backward();
  EXPECT_TRUE(close(base.grad(), wide.grad(), output_bound(at::kFloat)));
}

TEST(Gradients, OfAGainComeInItsOwnType) {
  AttentionInputs inputs = make_inputs({.shape = {.batch = 1, .heads = 2, .queries = 9, .dim = 16},
                                        .formulation = formulations::qknorm_hs,
                                        .gain = GainShape::heads,
                                        .type = at::kBFloat16});
  inputs.options.gain = inputs.options.gain.detach().to(at::kBFloat16).requires_grad_();
  const AttentionOutcome actual = differentiate(inputs, AttentionPath::automatic);
  EXPECT_EQ(actual.grad_gain.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(close(actual.grad_gain, differentiate_oracle(inputs).grad_gain,
                    {.of_largest = 2.0 * unit_roundoff(at::kBFloat16)}));
}

TEST(Defaults, AreTorchsAttentionForTheStandardFormulation) {
  torch::manual_seed(5);
  const at::Tensor q = at::randn({2, 3, 33, 40});
  const at::Tensor k = at::randn({2, 3, 41, 40});
  const at::Tensor v = at::randn({2, 3, 41, 24});
  const Bound bound{.of_largest = 1e-5};
  const AttentionOptions standard{.formulation = formulations::standard};
  EXPECT_TRUE(close(attention(q, k, v, standard), at::scaled_dot_product_attention(q, k, v), bound));
  AttentionOptions causal = standard;
  causal.is_causal = true;
  EXPECT_TRUE(close(attention(q, k, v, causal), at::scaled_dot_product_attention(q, k, v, {}, 0.0, true), bound));
}

TEST(Defaults, AreQuest) {
  torch::manual_seed(6);
  const at::Tensor q = at::randn({2, 3, 33, 40});
  const at::Tensor k = at::randn({2, 3, 41, 40});
  const at::Tensor v = at::randn({2, 3, 41, 24});
  const at::Tensor unit = k / k.norm(2, -1, true);
  EXPECT_TRUE(close(attention(q, k, v), at::scaled_dot_product_attention(q, unit, v, {}, 0.0, false, 1.0),
                    {.of_largest = 1e-5}));
}

}  // namespace
}  // namespace quest::testing
