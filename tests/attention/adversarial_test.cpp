// Inputs that break careless kernels: zeros, extremes, hidden poison, empty tensors. Fused and reference path alike.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/attention/attention_case.h"
#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Adversarial : public ::testing::TestWithParam<AttentionPath> {
 protected:
  static AttentionInputs inputs(AttentionCase test = {}) {
    test.shape = {.batch = 2, .heads = 2, .queries = 19, .dim = 24, .keys = 35, .value_dim = 20};
    return make_inputs(test);
  }
  static AttentionOutcome run(const AttentionInputs& inputs) { return differentiate(inputs, GetParam()); }

  static void expect_near(const AttentionInputs& inputs, double logit_size = 0.0) {
    expect_exact(inputs, run(inputs), logit_size);
  }

  static at::Tensor& edit(at::Tensor& tensor) {
    tensor = tensor.detach().clone();
    return tensor;
  }
  static void seal(AttentionInputs& inputs) {
    inputs.q.requires_grad_();
    inputs.k.requires_grad_();
    inputs.v.requires_grad_();
  }
};

INSTANTIATE_TEST_SUITE_P(Paths, Adversarial, ::testing::Values(AttentionPath::fused, AttentionPath::reference),
                         [](const auto& named) { return named.param == AttentionPath::fused ? "fused" : "reference"; });

TEST_P(Adversarial, SomeKeysAreZero) {
  AttentionInputs test = inputs();
  edit(test.k).slice(2, 0, 35, 3).zero_();
  seal(test);
  expect_near(test);
  EXPECT_TRUE(all_zero(run(test).grad_k.slice(2, 0, 35, 3)));
}

TEST_P(Adversarial, AllKeysAreZeroGivesTheMeanValue) {
  AttentionInputs test = inputs();
  edit(test.k).zero_();
  seal(test);
  const AttentionOutcome outcome = run(test);
  EXPECT_TRUE(close(outcome.output, test.v.mean(2, true).expand_as(outcome.output), {.of_largest = 5e-6}));
  EXPECT_TRUE(all_zero(outcome.grad_k));
}

TEST_P(Adversarial, ZeroQueriesOfANormalisedQuery) {
  AttentionInputs test = inputs({.formulation = formulations::qknorm_hs, .gain = GainShape::heads});
  edit(test.q).slice(2, 0, 19, 2).zero_();
  seal(test);
  expect_near(test);
  EXPECT_TRUE(all_zero(run(test).grad_q.slice(2, 0, 19, 2)));
}

TEST_P(Adversarial, NegativeZeroAndHugeGains) {
  AttentionInputs test = inputs({.formulation = formulations::qknorm, .gain = GainShape::heads_and_dims});
  at::Tensor gain = test.options.gain.detach().clone();
  gain.slice(1, 0, 24, 3).mul_(-1.0);
  gain.slice(1, 1, 24, 3).zero_();
  gain[1][2] = 300.0;
  test.options.gain = gain.requires_grad_();
  expect_near(test, 300.0);
}

TEST_P(Adversarial, NegativeAndZeroScale) {
  for (const double scale : {-1.5, 0.0}) {
    SCOPED_TRACE(scale);
    AttentionInputs test = inputs();
    test.options.scale = scale;
    expect_near(test);
  }
}

TEST_P(Adversarial, KeysOfSubnormalsAndGiants) {
  for (const double size : {1e-42, 1e-38, 1e-30, 1e30, 1e37}) {
    SCOPED_TRACE(size);
    AttentionInputs test = inputs();
    edit(test.k).select(2, 7).copy_((at::randn({2, 2, 24}, at::kDouble) * size).to(at::kFloat));
    seal(test);
    const AttentionOutcome actual = run(test);
    const AttentionOutcome expected = differentiate_oracle(test);
    const Bound bound{.of_largest = 1e-5};
    EXPECT_TRUE(close(actual.output, expected.output, bound));
    EXPECT_TRUE(close(actual.grad_q, expected.grad_q, bound));
    EXPECT_TRUE(close(actual.grad_v, expected.grad_v, bound));
    const auto other_keys = [](const at::Tensor& gradient) {
      return at::cat({gradient.slice(2, 0, 7), gradient.slice(2, 8)}, 2);
    };
    EXPECT_TRUE(close(other_keys(actual.grad_k), other_keys(expected.grad_k), bound));
    if (size >= 1e-30) {
      EXPECT_TRUE(close(actual.grad_k.select(2, 7), expected.grad_k.select(2, 7), bound));
    }
  }
}

TEST_P(Adversarial, HalfRowsOfSixtyThousandAndOfSubnormals) {
  for (const double size : {6e4, 6e-8, 6e-6}) {
    SCOPED_TRACE(size);
    AttentionInputs test = inputs({.type = at::kHalf});
    edit(test.k).select(2, 7).copy_(at::randn({2, 2, 24}).sign() * size);
    test.k.select(2, 9).copy_(at::full({2, 2, 24}, size));
    seal(test);
    const at::Tensor expected = differentiate_oracle(test).output;
    const Bound bound = GetParam() == AttentionPath::fused ? output_bound(at::kHalf) : Bound{.of_largest = 4e-3};
    EXPECT_TRUE(close(run(test).output, expected, bound));
  }
}

TEST_P(Adversarial, QueryNormsFromAThousandthToTenThousand) {
  for (const double norm : {1e-3, 1.0, 20.0, 80.0, 100.0, 1e3, 1e4}) {
    SCOPED_TRACE(norm);
    AttentionInputs test = inputs();
    edit(test.q).div_(test.q.norm(2, -1, true)).mul_(norm);
    seal(test);
    expect_near(test, norm);
  }
}

TEST_P(Adversarial, QueryNormsMixedInOneBlock) {
  AttentionInputs test = inputs();
  edit(test.q).mul_(at::pow(10.0, at::linspace(-3.0, 3.0, 19)).unsqueeze(1));
  seal(test);
  expect_near(test, 1e4);
}

TEST_P(Adversarial, OneHotLogitsPickOneValue) {
  AttentionInputs test = inputs();
  const at::Tensor unit = at::randn({2, 2, 35, 24});
  test.k = unit.clone();
  test.q = (unit.slice(2, 0, 19) / unit.slice(2, 0, 19).norm(2, -1, true) * 1e4).detach();
  seal(test);
  const AttentionOutcome outcome = run(test);
  EXPECT_TRUE(close(outcome.output, test.v.slice(2, 0, 19), {.of_largest = 1e-6}));
  EXPECT_TRUE(all_finite(outcome.grad_q));
  EXPECT_TRUE(all_finite(outcome.grad_k));
  EXPECT_TRUE(close(outcome.grad_v.slice(2, 0, 19), test.grad_out, {.of_largest = 4.0 * 1e4 * 0x1p-24}));
}

TEST_P(Adversarial, StandardLogitsInTheThousands) {
  AttentionInputs test = inputs({.formulation = formulations::standard});
  edit(test.q).mul_(100.0);
  edit(test.k).mul_(10.0);
  seal(test);
  expect_near(test, 5e3);
}

// float's lowest number is what many libraries add to hide a key.
TEST_P(Adversarial, AdditiveMaskOfTheLowestNumber) {
  AttentionInputs test = inputs({.mask = MaskShape::additive_full});
  const at::Tensor& mask = test.options.mask;
  test.options.mask = mask.detach().masked_fill(mask == -kInfinity, std::numeric_limits<float>::lowest());
  const at::Tensor output = run(test).output;
  EXPECT_TRUE(close(output, differentiate_oracle(test).output, output_bound(at::kFloat)));
}

TEST_P(Adversarial, AdditiveMaskWithLargeValues) {
  for (const double offset : {-1e4, 1e4}) {
    SCOPED_TRACE(offset);
    AttentionInputs test = inputs({.mask = MaskShape::additive_full});
    test.options.mask = (test.options.mask.detach() + offset).requires_grad_();
    expect_near(test, 1e4);
  }
}

// Queries of zeros score zero, so that float64 has no digits of a logit that float32 lacks beside the mask.
TEST_P(Adversarial, AdditiveMaskOfAnyFiniteSize) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (const double number : {-1e2, -1e6, -1e9, 1e9, -1e30, -kLargest, kLargest}) {
    SCOPED_TRACE(number);
    AttentionInputs test = inputs();
    edit(test.q).zero_();
    at::Tensor mask = at::randn({19, 35});
    mask.slice(0, 0, 19, 2).fill_(number);
    test.options.mask = mask.requires_grad_();
    seal(test);
    expect_near(test);
  }
}

class AllMasked : public Adversarial {
 protected:
  static void expect_nothing(const AttentionOutcome& outcome, const at::Tensor& output_rows,
                             const at::Tensor& gradient_rows) {
    EXPECT_TRUE(all_zero(output_rows));
    EXPECT_TRUE(all_zero(gradient_rows));
    EXPECT_TRUE(all_finite(outcome.output));
    EXPECT_TRUE(all_finite(outcome.grad_q));
    EXPECT_TRUE(all_finite(outcome.grad_k));
    EXPECT_TRUE(all_finite(outcome.grad_v));
  }
};

INSTANTIATE_TEST_SUITE_P(Paths, AllMasked, ::testing::Values(AttentionPath::fused, AttentionPath::reference),
                         [](const auto& named) { return named.param == AttentionPath::fused ? "fused" : "reference"; });

TEST_P(AllMasked, RowsOfABooleanMask) {
  AttentionInputs test = inputs();
  test.options.mask = at::ones({19, 35}, at::kBool);
  test.options.mask.slice(0, 0, 19, 2).fill_(false);
  const AttentionOutcome outcome = run(test);
  expect_nothing(outcome, outcome.output.slice(2, 0, 19, 2), outcome.grad_q.slice(2, 0, 19, 2));
}

TEST_P(AllMasked, RowsOfAnAdditiveMask) {
  AttentionInputs test = inputs();
  at::Tensor mask = at::zeros({19, 35});
  mask.slice(0, 0, 19, 2).fill_(-kInfinity);
  test.options.mask = mask.requires_grad_();
  const AttentionOutcome outcome = run(test);
  expect_nothing(outcome, outcome.output.slice(2, 0, 19, 2), outcome.grad_q.slice(2, 0, 19, 2));
  EXPECT_TRUE(all_zero(outcome.grad_mask.slice(0, 0, 19, 2)));
  EXPECT_TRUE(all_finite(outcome.grad_mask));
}

TEST_P(AllMasked, BatchOfNoKeys) {
  AttentionInputs test = inputs();
  test.options.key_lengths = at::tensor(std::vector<std::int64_t>{0, 35});
  const AttentionOutcome outcome = run(test);
  expect_nothing(outcome, outcome.output[0], outcome.grad_q[0]);
  EXPECT_TRUE(all_zero(outcome.grad_k[0]));
  EXPECT_TRUE(all_zero(outcome.grad_v[0]));
}

TEST_P(AllMasked, EarlyQueriesOfALowerRightTriangle) {
  AttentionInputs test = make_inputs(
      {.shape = {.batch = 2, .heads = 2, .queries = 40, .dim = 16, .keys = 25}, .causal = CausalKind::lower_right});
  const AttentionOutcome outcome = run(test);
  expect_nothing(outcome, outcome.output.slice(2, 0, 15), outcome.grad_q.slice(2, 0, 15));
  EXPECT_GT(outcome.output.select(2, 15).abs().min().item<double>(), 0.0);
}

TEST_P(AllMasked, PackedSequenceWithoutKeys) {
  AttentionInputs test = make_inputs({.shape = {.batch = 1, .heads = 2, .queries = 30, .dim = 16, .keys = 25}});
  test.options.cu_seqlens_q = at::tensor(std::vector<std::int64_t>{0, 10, 30});
  test.options.cu_seqlens_k = at::tensor(std::vector<std::int64_t>{0, 0, 25});
  const AttentionOutcome outcome = run(test);
  expect_nothing(outcome, outcome.output.slice(2, 0, 10), outcome.grad_q.slice(2, 0, 10));
}

struct EmptySize {
  std::string name;
  std::vector<std::int64_t> q, k;
};

class Empty : public ::testing::TestWithParam<std::tuple<AttentionPath, EmptySize>> {};

TEST_P(Empty, GivesZerosOfTheRightShape) {
  const auto& [path, size] = GetParam();
  AttentionOptions options;
  options.path = path;
  const at::Tensor q = at::randn(size.q).requires_grad_();
  const at::Tensor k = at::randn(size.k).requires_grad_();
  const at::Tensor v = at::randn(size.k).requires_grad_();
  const at::Tensor output = attention(q, k, v, options);
  EXPECT_EQ(output.sizes(), q.sizes());
  EXPECT_TRUE(all_zero(output));
  for (const at::Tensor& gradient : torch::autograd::grad({output}, {q, k, v}, {at::ones_like(output)})) {
    EXPECT_TRUE(all_zero(gradient));
  }
  const AttentionStats stats = attention_with_stats(q, k, v, options).stats;
  EXPECT_EQ(stats.lse.sizes(), q.sizes().slice(0, 3));
  EXPECT_EQ(stats.key_mass.sizes(), (std::vector<std::int64_t>{size.q[0], size.q[1], size.k[2]}));
  EXPECT_TRUE(all_zero(stats.key_mass));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Empty,
                         ::testing::Combine(::testing::Values(AttentionPath::fused, AttentionPath::reference),
                                            ::testing::Values(EmptySize{"no_batch", {0, 2, 5, 8}, {0, 2, 7, 8}},
                                                              EmptySize{"no_queries", {2, 2, 0, 8}, {2, 2, 7, 8}},
                                                              EmptySize{"no_keys", {2, 2, 5, 8}, {2, 2, 0, 8}},
                                                              EmptySize{"nothing", {2, 2, 0, 8}, {2, 2, 0, 8}})),
                         [](const auto& named) {
                           return std::get<1>(named.param).name +
                                  (std::get<0>(named.param) == AttentionPath::fused ? "_fused" : "_reference");
                         });

}  // namespace
}  // namespace quest::testing
