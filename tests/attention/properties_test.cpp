// What must hold for every input, tried on random ones: the claims of the method rather than its formula.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <torch/torch.h>

#include "quest/attention.h"
#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

// Inputs are of order one, so gradients that vanish, as for a single key, leave roundings of that order.
constexpr Bound kRounding{.of_largest = 5e-6, .absolute = 2e-6};

struct Sample {
  at::Tensor q, k, v;
  AttentionOptions options;

  [[nodiscard]] at::Tensor output() const { return attention(q, k, v, options); }
  [[nodiscard]] std::vector<at::Tensor> gradients() const {
    const at::Tensor output = attention(q, k, v, options);
    const at::Tensor weight = at::linspace(-1.0, 1.0, output.numel()).reshape(output.sizes());
    return torch::autograd::grad({output}, {q, k, v}, {weight});
  }
};

std::int64_t any_dim() { return *rc::gen::element<std::int64_t>(4, 8, 16, 20, 24, 32, 40, 64, 80, 100); }

// Values on a grid of 2⁻¹², so that a power of two within 1e±30 scales them exactly.
at::Tensor grid_normal(at::IntArrayRef sizes) { return (at::randn(sizes) * 4096.0).round() / 4096.0; }

Sample any_sample() {
  torch::manual_seed(*rc::gen::arbitrary<std::uint64_t>());
  const auto heads = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto queries = *rc::gen::inRange<std::int64_t>(1, 40);
  const auto keys = *rc::gen::inRange<std::int64_t>(1, 80);
  const std::int64_t dim = any_dim();
  return {grid_normal({2, heads, queries, dim}).requires_grad_(),
          grid_normal({2, heads, keys, dim}).requires_grad_(),
          grid_normal({2, heads, keys, any_dim()}).requires_grad_(),
          {}};
}

void require(const ::testing::AssertionResult& result) {
  if (!result) {
    RC_FAIL(result.message());
  }
}

at::Tensor with_key_scaled(const at::Tensor& k, std::int64_t key, double factor) {
  at::Tensor scaled = k.detach().clone();
  scaled.select(2, key).mul_(factor);
  return scaled.requires_grad_();
}

// Attention weights, read off with an identity as the values.
at::Tensor weights(const Sample& sample) {
  const std::int64_t keys = sample.k.size(2);
  const at::Tensor identity = at::eye(keys).expand({sample.k.size(0), sample.k.size(1), keys, keys});
  return attention(sample.q.detach(), sample.k.detach(), identity, sample.options);
}

RC_GTEST_PROP(KeyNorm, PowerOfTwoChangesNoBit, ()) {
  Sample sample = any_sample();
  const at::Tensor before = sample.output();
  const std::vector<at::Tensor> gradients = sample.gradients();
  const auto key = *rc::gen::inRange<std::int64_t>(0, sample.k.size(2));
  sample.k = with_key_scaled(sample.k, key, std::ldexp(1.0, *rc::gen::inRange(-99, 100)));
  require(identical(sample.output(), before));
  const std::vector<at::Tensor> scaled_gradients = sample.gradients();
  require(identical(scaled_gradients[0], gradients[0]));
  require(identical(scaled_gradients[2], gradients[2]));
}

RC_GTEST_PROP(KeyNorm, AnyFactorChangesOnlyRounding, ()) {
  Sample sample = any_sample();
  const at::Tensor before = sample.output();
  const std::vector<at::Tensor> gradients = sample.gradients();
  const auto key = *rc::gen::inRange<std::int64_t>(0, sample.k.size(2));
  const double factor = std::pow(10.0, *rc::gen::inRange(-3000, 3001) / 100.0);
  sample.k = with_key_scaled(sample.k, key, factor);
  require(close(sample.output(), before, kRounding));
  const std::vector<at::Tensor> scaled_gradients = sample.gradients();
  require(close(scaled_gradients[0], gradients[0], kRounding));
  require(close(scaled_gradients[2], gradients[2], kRounding));
  const at::Tensor unscaled = with_key_scaled(scaled_gradients[1].to(at::kDouble), key, factor);
  require(close(unscaled, gradients[1], kRounding));
}

RC_GTEST_PROP(Weights, AreOrderedAsTheCosines, ()) {
  Sample sample = any_sample();
  const at::Tensor norms = at::pow(10.0, at::rand({sample.k.size(2), 1}) * 6.0 - 3.0);
  sample.k = (sample.k.detach() * norms).requires_grad_();
  const at::Tensor order =
      at::cosine_similarity(sample.q.to(at::kDouble).unsqueeze(3), sample.k.to(at::kDouble).unsqueeze(2), -1)
          .detach()
          .argsort(-1, false);
  const at::Tensor sorted = weights(sample).gather(-1, order);
  const at::Tensor smaller = sorted.slice(-1, 0, -1);
  const at::Tensor larger = sorted.slice(-1, 1);
  RC_ASSERT((larger >= smaller * (1.0 - 1e-5)).all().item<bool>());
}

RC_GTEST_PROP(QueryNorm, OnlySharpens, ()) {
  Sample sample = any_sample();
  const AttentionStats before = attention_with_stats(sample.q, sample.k, sample.v).stats;
  const at::Tensor peak_before = weights(sample).amax(-1);
  const double factor = 1.0 + *rc::gen::inRange(1, 1000) / 100.0;
  sample.q = sample.q * factor;
  const AttentionStats after = attention_with_stats(sample.q, sample.k, sample.v).stats;
  RC_ASSERT((after.entropy <= before.entropy + 2e-5).all().item<bool>());
  RC_ASSERT((weights(sample).amax(-1) >= peak_before - 2e-6).all().item<bool>());
}

RC_GTEST_PROP(Keys, HaveNoOrder, ()) {
  Sample sample = any_sample();
  const at::Tensor before = sample.output();
  const std::vector<at::Tensor> gradients = sample.gradients();
  const at::Tensor order = at::randperm(sample.k.size(2));
  sample.k = sample.k.detach().index_select(2, order).requires_grad_();
  sample.v = sample.v.detach().index_select(2, order).requires_grad_();
  require(close(sample.output(), before, kRounding));
  const std::vector<at::Tensor> permuted = sample.gradients();
  require(close(permuted[0], gradients[0], kRounding));
  require(close(permuted[1], gradients[1].index_select(2, order), kRounding));
  require(close(permuted[2], gradients[2].index_select(2, order), kRounding));
}

RC_GTEST_PROP(Quest, IsStandardAttentionOnUnitKeys, ()) {
  Sample sample = any_sample();
  const at::Tensor quest_output = sample.output();
  sample.k = sample.k / sample.k.to(at::kDouble).norm(2, -1, true).clamp_min(1e-12).to(at::kFloat);
  sample.options = {.formulation = formulations::standard, .scale = 1.0};
  require(close(sample.output(), quest_output, kRounding));
}

RC_GTEST_PROP(KeyGradient, IsOrthogonalToTheKey, ()) {
  const Sample sample = any_sample();
  const at::Tensor gradient = sample.gradients()[1].to(at::kDouble);
  const at::Tensor key = sample.k.detach().to(at::kDouble);
  const at::Tensor scale = (gradient.norm(2, -1) * key.norm(2, -1)).amax();
  const at::Tensor inner = (gradient * key).sum(-1).abs();
  RC_ASSERT((inner <= 5e-6 * scale + 1e-30).all().item<bool>());
}

RC_GTEST_PROP(Weights, OfEveryRowSumToOneOrNothingIsVisible, ()) {
  Sample sample = any_sample();
  const at::Tensor mask = at::rand({2, 1, sample.q.size(2), sample.k.size(2)}) < *rc::gen::inRange(0, 101) / 100.0;
  sample.options.mask = mask;
  sample.v = at::ones({2, sample.k.size(1), sample.k.size(2), 1});
  const at::Tensor expected = mask.any(-1, true).to(at::kFloat).expand({2, sample.q.size(1), sample.q.size(2), 1});
  require(close(sample.output(), expected, {.absolute = 2e-6}));
}

RC_GTEST_PROP(Values, EnterLinearly, ()) {
  Sample sample = any_sample();
  const at::Tensor first = sample.output();
  const at::Tensor shift = at::randn_like(sample.v);
  Sample other = sample;
  other.v = shift;
  const at::Tensor second = other.output();
  sample.v = sample.v.detach() * 2.0 + shift;
  require(close(sample.output(), first * 2.0 + second, kRounding));
}

}  // namespace
}  // namespace quest::testing
