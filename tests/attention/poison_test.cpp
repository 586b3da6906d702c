// NaN and infinity stay where they are seen: hidden ones touch nothing, visible ones reach exactly the rows that see
// them.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/attention/attention_case.h"
#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kBatch = 2, kHeads = 2, kQueries = 21, kKeys = 37;

struct Hiding {
  std::string name;
  AttentionOptions options;
  std::function<bool(std::int64_t batch, std::int64_t key)> hides;  // from every query of the batch entry
};

at::Tensor key_mask(std::int64_t hidden_from) {
  return (at::arange(kKeys) < hidden_from).expand({kBatch, 1, kQueries, kKeys});
}

std::vector<Hiding> hidings() {
  std::vector<Hiding> result;
  result.push_back({"bool_mask", {.mask = key_mask(30)}, [](auto, auto key) { return key >= 30; }});
  result.push_back({"scattered_mask",
                    {.mask = (at::arange(kKeys) % 3 != 0).expand({kQueries, kKeys})},
                    [](auto, auto key) { return key % 3 == 0; }});
  result.push_back(
      {"additive_mask",
       {.mask = at::zeros({kBatch, 1, kQueries, kKeys}).masked_fill(key_mask(5).logical_not(), -kInfinity)},
       [](auto, auto key) { return key >= 5; }});
  result.push_back({"key_lengths",
                    {.key_lengths = at::tensor(std::vector<std::int64_t>{13, 33})},
                    [](auto batch, auto key) { return key >= (batch == 0 ? 13 : 33); }});
  result.push_back({"causal", {.is_causal = true}, [](auto, auto key) { return key >= kQueries; }});
  return result;
}

void poison(at::Tensor& tensor, const Hiding& hiding, double value) {
  tensor = tensor.detach().clone();
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t key = 0; key < kKeys; ++key) {
      if (hiding.hides(b, key)) {
        tensor[b].select(1, key).slice(-1, 1, 4).fill_(value);
      }
    }
  }
  tensor.requires_grad_();
}

AttentionInputs plain_inputs(at::ScalarType type = at::kFloat) {
  return make_inputs({.shape = {.batch = kBatch, .heads = kHeads, .queries = kQueries, .dim = 20, .keys = kKeys},
                      .formulation = formulations::qknorm,
                      .gain = GainShape::heads_and_dims,
                      .type = type});
}

std::string path_name(AttentionPath path) { return path == AttentionPath::fused ? "fused" : "reference"; }

// Within rounding: what is hidden may decide which of two equally exact ways a kernel takes, and a narrow output that
// then rounds the other way is felt by its gradients.
Bound rounding(const AttentionOutcome& outcome) {
  const at::ScalarType type = outcome.output.scalar_type();
  return type == at::kFloat ? Bound{.of_largest = 2e-6}
                            : Bound{.of_largest = unit_roundoff(type), .of_value = 2.0 * unit_roundoff(type)};
}

void expect_unchanged(const AttentionOutcome& actual, const AttentionOutcome& expected) {
  const Bound bound = rounding(expected);
  EXPECT_TRUE(close(actual.output, expected.output, bound)) << "output";
  EXPECT_TRUE(close(actual.grad_q, expected.grad_q, bound)) << "gradient of q";
  EXPECT_TRUE(close(actual.grad_k, expected.grad_k, bound)) << "gradient of k";
  EXPECT_TRUE(close(actual.grad_v, expected.grad_v, bound)) << "gradient of v";
  EXPECT_TRUE(close(actual.grad_gain, expected.grad_gain, bound)) << "gradient of the gain";
  if (expected.grad_mask.defined()) {
    EXPECT_TRUE(close(actual.grad_mask, expected.grad_mask, bound)) << "gradient of the mask";
  }
}

class HiddenPoison : public ::testing::TestWithParam<std::tuple<AttentionPath, std::size_t, at::ScalarType>> {};

TEST_P(HiddenPoison, LeaksNowhere) {
  const auto& [path, index, type] = GetParam();
  const Hiding hiding = hidings()[index];
  AttentionInputs clean = plain_inputs(type);
  const at::Tensor gain = clean.options.gain;
  clean.options = hiding.options;
  clean.options.gain = gain;
  if (clean.options.mask.defined() && clean.options.mask.is_floating_point()) {
    clean.options.mask = clean.options.mask.to(type).requires_grad_();
  }
  for (const Formulation& formulation : {formulations::quest, formulations::standard, formulations::qknorm}) {
    clean.options.formulation = formulation;
    const AttentionOutcome expected = differentiate(clean, path);
    for (const double value : {kNaN, kInfinity}) {
      AttentionInputs poisoned = clean;
      poison(poisoned.k, hiding, value);
      poison(poisoned.v, hiding, value);
      SCOPED_TRACE(std::string(formulation.name) + " with " + std::to_string(value));
      expect_unchanged(differentiate(poisoned, path), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hidings, HiddenPoison,
                         ::testing::Combine(::testing::Values(AttentionPath::fused, AttentionPath::reference),
                                            ::testing::Range<std::size_t>(0, hidings().size()),
                                            ::testing::Values(at::kFloat, at::kBFloat16)),
                         [](const auto& named) {
                           return path_name(std::get<0>(named.param)) + "_" + hidings()[std::get<1>(named.param)].name +
                                  (std::get<2>(named.param) == at::kFloat ? "_f32" : "_bf16");
                         });

class VisiblePoison : public ::testing::TestWithParam<AttentionPath> {
 protected:
  static constexpr std::int64_t kPoisonedKey = 11;

  // Queries see about half the keys each; some see the poisoned one.
  static AttentionInputs inputs() {
    AttentionInputs inputs = plain_inputs();
    inputs.options.mask = at::rand({kBatch, 1, kQueries, kKeys}) < 0.5;
    return inputs;
  }
  static at::Tensor rows_seeing_poison(const AttentionInputs& inputs) {
    return oracle_visibility(inputs.q, inputs.k, inputs.options).select(3, kPoisonedKey);
  }
  static void poison_key(at::Tensor& tensor) {
    tensor = tensor.detach().clone();
    tensor.select(2, kPoisonedKey).select(2, 3).fill_(kNaN);
    tensor.requires_grad_();
  }
  // Rows where `touched` is true hold a NaN, all others the clean values.
  static void expect_touched(const at::Tensor& actual, const at::Tensor& clean, const at::Tensor& touched) {
    EXPECT_TRUE(at::equal(actual.isnan().any(-1), touched));
    const at::Tensor rows = touched.unsqueeze(-1);
    EXPECT_TRUE(close(actual.masked_fill(rows, 0.0), clean.masked_fill(rows, 0.0), {.of_largest = 2e-6}));
  }
};

INSTANTIATE_TEST_SUITE_P(Paths, VisiblePoison, ::testing::Values(AttentionPath::fused, AttentionPath::reference),
                         [](const auto& named) { return path_name(named.param); });

TEST_P(VisiblePoison, InAKeyReachesTheRowsThatSeeIt) {
  const AttentionInputs clean = inputs();
  AttentionInputs poisoned = clean;
  poison_key(poisoned.k);
  const at::Tensor touched = rows_seeing_poison(clean);
  const AttentionOutcome expected = differentiate(clean, GetParam());
  const AttentionOutcome actual = differentiate(poisoned, GetParam());
  expect_touched(actual.output, expected.output, touched);
  expect_touched(actual.grad_q, expected.grad_q, touched);
}

TEST_P(VisiblePoison, InAValueReachesTheRowsThatSeeIt) {
  const AttentionInputs clean = inputs();
  AttentionInputs poisoned = clean;
  poison_key(poisoned.v);
  const at::Tensor touched = rows_seeing_poison(clean);
  const AttentionOutcome actual = differentiate(poisoned, GetParam());
  const AttentionOutcome expected = differentiate(clean, GetParam());
  expect_touched(actual.output, expected.output, touched);
  expect_touched(actual.grad_q, expected.grad_q, touched);
}

TEST_P(VisiblePoison, InAQueryReachesItsRowAndTheKeysItSees) {
  const AttentionInputs clean = inputs();
  AttentionInputs poisoned = clean;
  poisoned.q = clean.q.detach().clone();
  poisoned.q.select(2, 4).select(2, 0).fill_(kNaN);
  poisoned.q.requires_grad_();
  const at::Tensor row = (at::arange(kQueries) == 4).expand({kBatch, kHeads, kQueries});
  const at::Tensor seen = oracle_visibility(clean.q, clean.k, clean.options).select(2, 4);
  const AttentionOutcome actual = differentiate(poisoned, GetParam());
  const AttentionOutcome expected = differentiate(clean, GetParam());
  expect_touched(actual.output, expected.output, row);
  expect_touched(actual.grad_q, expected.grad_q, row);
  expect_touched(actual.grad_k, expected.grad_k, seen);
  expect_touched(actual.grad_v, expected.grad_v, seen);
}

// Padding among the queries: rows that see nothing may hold anything, and so may the gradient that comes back to them.
TEST_P(VisiblePoison, InAQueryThatSeesNothingIsInvisible) {
  AttentionInputs clean = inputs();
  clean.options.mask.slice(2, 15).fill_(false);
  AttentionInputs poisoned = clean;
  poisoned.q = clean.q.detach().clone();
  poisoned.q.slice(2, 15).fill_(kNaN);
  poisoned.q.requires_grad_();
  poisoned.grad_out = clean.grad_out.clone();
  poisoned.grad_out.slice(2, 15).fill_(kNaN);
  expect_unchanged(differentiate(poisoned, GetParam()), differentiate(clean, GetParam()));
}

TEST_P(VisiblePoison, InOnePackedSequenceStaysThere) {
  AttentionInputs clean = make_inputs({.shape = {.batch = 1, .heads = 2, .queries = 40, .dim = 16, .keys = 50}});
  clean.options.cu_seqlens_q = at::tensor(std::vector<std::int64_t>{0, 13, 27, 40});
  clean.options.cu_seqlens_k = at::tensor(std::vector<std::int64_t>{0, 11, 30, 50});
  AttentionInputs poisoned = clean;
  for (at::Tensor* tensor : {&poisoned.k, &poisoned.v}) {
    *tensor = tensor->detach().clone();
    tensor->slice(2, 11, 30).fill_(kNaN);
    tensor->requires_grad_();
  }
  const AttentionOutcome actual = differentiate(poisoned, GetParam());
  const AttentionOutcome expected = differentiate(clean, GetParam());
  const auto in = [](std::int64_t rows, std::int64_t begin, std::int64_t end) {
    const at::Tensor index = at::arange(rows);
    return (index >= begin).logical_and(index < end).expand({1, 2, rows});
  };
  expect_touched(actual.output, expected.output, in(40, 13, 27));
  expect_touched(actual.grad_q, expected.grad_q, in(40, 13, 27));
  expect_touched(actual.grad_k, expected.grad_k, in(50, 11, 30));
  expect_touched(actual.grad_v, expected.grad_v, in(50, 11, 30));
}

TEST_P(VisiblePoison, BehindTheCausalEdgeIsSeenFromThereOn) {
  AttentionInputs clean =
      make_inputs({.shape = {.batch = 2, .heads = 2, .queries = 70, .dim = 16}, .causal = CausalKind::top_left});
  for (const std::int64_t key : {0, 1, 16, 33, 69}) {
    SCOPED_TRACE(key);
    AttentionInputs poisoned = clean;
    for (at::Tensor* tensor : {&poisoned.k, &poisoned.v}) {
      *tensor = tensor->detach().clone();
      tensor->select(2, key).fill_(kNaN);
      tensor->requires_grad_();
    }
    const at::Tensor touched = (at::arange(70) >= key).expand({2, 2, 70});
    const AttentionOutcome actual = differentiate(poisoned, GetParam());
    const AttentionOutcome expected = differentiate(clean, GetParam());
    expect_touched(actual.output, expected.output, touched);
    expect_touched(actual.grad_q, expected.grad_q, touched);
  }
}

}  // namespace
}  // namespace quest::testing
