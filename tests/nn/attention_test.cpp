// Attention modules in every formulation against the formula in float64, forward and backward.

#include "quest/nn/attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/nn/plain_attention.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kTokens = 17;
constexpr std::int64_t kDim = 24;
constexpr std::int64_t kHeads = 3;
// Float32 through two projections and attention, as a share of the largest element.
constexpr Bound kBound{.of_largest = 2e-5};

// Gains off their starts, so that a gain that is ignored or misread shows.
void disturb_gains(torch::nn::Module& module) {
  const at::NoGradGuard no_gradients;
  for (auto& item : module.named_parameters()) {
    if (item.key().find("gain") != std::string::npos) {
      item.value().add_(at::randn_like(item.value()), 0.3);
    }
  }
}

void expect_same_gradients(const torch::nn::Module& module, const Weights& weights) {
  for (const auto& item : module.named_parameters()) {
    EXPECT_TRUE(close(item.value().grad(), weights.at(item.key()).grad(), kBound)) << item.key();
  }
}

std::string formulation_name(const ::testing::TestParamInfo<Formulation>& info) { return std::string(info.param.name); }

class EveryFormulation : public ::testing::TestWithParam<Formulation> {
 protected:
  void SetUp() override { torch::manual_seed(7); }

  static nn::Attention make(bool is_causal = false) {
    nn::Attention attention(nn::AttentionOptions(kDim, kHeads).formulation(GetParam()).is_causal(is_causal));
    disturb_gains(*attention);
    return attention;
  }
};

TEST_P(EveryFormulation, SelfAttentionIsTheFormula) {
  nn::Attention attention = make();
  const at::Tensor x = at::randn({kBatch, kTokens, kDim}).requires_grad_();
  const at::Tensor wide = x.detach().to(at::kDouble).requires_grad_();
  const at::Tensor grad_out = at::randn({kBatch, kTokens, kDim});
  const Weights weights = wide_weights(*attention);
  const at::Tensor out = attention->forward(x);
  const at::Tensor exact = plain_self_attention(GetParam(), kHeads, weights, "", wide);
  EXPECT_TRUE(close(out, exact, kBound));
  out.backward(grad_out);
  exact.backward(grad_out.to(at::kDouble));
  EXPECT_TRUE(close(x.grad(), wide.grad(), kBound));
  expect_same_gradients(*attention, weights);
}

TEST_P(EveryFormulation, SecondLayerKnowsTheValuesOfTheFirst) {
  nn::Attention first = make();
  nn::Attention second = make();
  const at::Tensor x = at::randn({kBatch, kTokens, kDim});
  at::Tensor values;
  const at::Tensor between = first->forward(x, {.layer_values = &values});
  const at::Tensor out = second->forward(between, {.layer_values = &values});
  const bool estimated = GetParam().gain_axes != GainAxes::none && !GetParam().gain_is_learned;
  EXPECT_EQ(values.defined(), estimated);
  const auto value_heads = [](nn::Attention& layer, const at::Tensor& input) {
    return layer->qkv->forward(input).chunk(3, -1)[2].reshape({kBatch, kTokens, kHeads, -1}).transpose(1, 2);
  };
  const at::Tensor before = estimated ? value_heads(first, x).to(at::kDouble) : at::Tensor();
  const at::Tensor exact =
      plain_self_attention(GetParam(), kHeads, wide_weights(*second), "", between.detach().to(at::kDouble), before);
  EXPECT_TRUE(close(out, exact, kBound));
}

TEST_P(EveryFormulation, PaddingChangesNothing) {
  nn::Attention first = make();
  nn::Attention second = make();
  const at::Tensor x = at::randn({kBatch, kTokens, kDim});
  const at::Tensor lengths = at::tensor({5, 17, 11}, at::kLong);
  const auto run = [&](const at::Tensor& input) {
    at::Tensor values;
    const nn::AttentionInputs inputs{.key_lengths = lengths, .layer_values = &values};
    return second->forward(first->forward(input, inputs), inputs);
  };
  at::Tensor other = x.clone();
  other[0].slice(0, 5).fill_(100.0);
  other[2].slice(0, 11).fill_(-3.0);
  const at::Tensor expected = run(x);
  const at::Tensor actual = run(other);
  EXPECT_TRUE(identical(actual[0].slice(0, 0, 5), expected[0].slice(0, 0, 5)));
  EXPECT_TRUE(identical(actual[1], expected[1]));
  EXPECT_TRUE(identical(actual[2].slice(0, 0, 11), expected[2].slice(0, 0, 11)));
  const at::Tensor alone = first->forward(x.slice(0, 0, 1).slice(1, 0, 5));
  EXPECT_TRUE(
      close(first->forward(x, {.key_lengths = lengths}).slice(0, 0, 1).slice(1, 0, 5), alone, {.of_largest = 1e-6}));
}

TEST_P(EveryFormulation, PackedSequencesSeeThemselvesOnly) {
  nn::Attention first = make();
  nn::Attention second = make();
  const std::vector<std::int64_t> lengths = {5, 0, 1, 40, 7};
  const at::Tensor offsets = at::tensor({0, 5, 5, 6, 46, 53}, at::kInt);
  const at::Tensor x = at::randn({1, 53, kDim}).requires_grad_();
  const at::Tensor wide = x.detach().to(at::kDouble).requires_grad_();
  const Weights first_weights = wide_weights(*first);
  const Weights second_weights = wide_weights(*second);
  at::Tensor values;
  const nn::AttentionInputs inputs{.cu_seqlens = offsets, .layer_values = &values};
  const at::Tensor out = second->forward(first->forward(x, inputs), inputs);
  const bool estimated = GetParam().gain_axes != GainAxes::none && !GetParam().gain_is_learned;
  std::vector<at::Tensor> alone;
  for (const at::Tensor& sequence : wide.split_with_sizes(lengths, 1)) {
    if (sequence.size(1) == 0) continue;
    const at::Tensor between = plain_self_attention(GetParam(), kHeads, first_weights, "", sequence);
    const at::Tensor before =
        at::linear(sequence, first_weights.at("qkv.weight"), first_weights.at("qkv.bias")).chunk(3, -1)[2];
    const at::Tensor before_heads = before.reshape({1, sequence.size(1), kHeads, -1}).transpose(1, 2);
    alone.push_back(
        plain_self_attention(GetParam(), kHeads, second_weights, "", between, estimated ? before_heads : at::Tensor()));
  }
  const at::Tensor exact = at::cat(alone, 1);
  EXPECT_TRUE(close(out, exact, kBound));
  out.sin().sum().backward();
  exact.sin().sum().backward();
  EXPECT_TRUE(close(x.grad(), wide.grad(), kBound));
  expect_same_gradients(*second, second_weights);
}

TEST_P(EveryFormulation, APackedSequenceHasTheBitsItHasAlone) {
  nn::Attention attention = make();
  const at::Tensor x = at::randn({1, 60, kDim});
  const at::Tensor qkv = attention->qkv->forward(x);
  const auto attended = [&](std::int64_t first, std::int64_t count, const at::Tensor& offsets) {
    const auto heads = [&](const at::Tensor& part) {
      return part.narrow(1, first, count).view({1, count, kHeads, -1}).transpose(1, 2);
    };
    const auto parts = qkv.chunk(3, -1);
    AttentionOptions options{.formulation = GetParam(), .cu_seqlens_q = offsets, .cu_seqlens_k = offsets};
    if (GetParam().gain_axes != GainAxes::none) options.gain = at::ones({});
    return quest::attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), options);
  };
  const at::Tensor packed = attended(0, 60, at::tensor({0, 11, 48, 60}, at::kInt));
  EXPECT_TRUE(identical(packed.narrow(2, 11, 37), attended(11, 37, at::tensor({0, 37}, at::kInt))));
}

TEST_P(EveryFormulation, FirstRowsAreTheRowsOfTheWhole) {
  for (const bool is_causal : {false, true}) {
    nn::Attention attention = make(is_causal);
    const at::Tensor x = at::randn({kBatch, kTokens, kDim});
    const at::Tensor whole = attention->forward(x).narrow(1, 0, 2);
    whole.square().sum().backward();
    std::map<std::string, at::Tensor> expected;
    for (auto& item : attention->named_parameters()) {
      expected[item.key()] = item.value().grad().clone();
    }
    attention->zero_grad();
    const at::Tensor first = attention->forward_first(x, 2);
    first.square().sum().backward();
    EXPECT_TRUE(close(first, whole, {.of_largest = 1e-6}));
    for (auto& item : attention->named_parameters()) {
      EXPECT_TRUE(close(item.value().grad(), expected[item.key()], {.of_largest = 1e-5})) << item.key();
    }
  }
}

TEST_P(EveryFormulation, CrossAttentionIsTheFormula) {
  constexpr std::int64_t kContextDim = 10;
  nn::CrossAttention attention(
      nn::CrossAttentionOptions(kDim, kHeads).context_dim(kContextDim).formulation(GetParam()).bias(false));
  disturb_gains(*attention);
  const at::Tensor x = at::randn({kBatch, 5, kDim});
  const at::Tensor context = at::randn({kBatch, kTokens, kContextDim});
  const Weights weights = wide_weights(*attention);
  const at::Tensor out = attention->forward(x, context);
  const auto kv = at::linear(context.to(at::kDouble), weights.at("kv.weight")).chunk(2, -1);
  const at::Tensor mixed =
      plain_attention(GetParam(), kHeads, weights, at::linear(x.to(at::kDouble), weights.at("q.weight")), kv[0], kv[1]);
  const at::Tensor exact = at::linear(mixed, weights.at("proj.weight"), weights.at("proj.bias"));
  EXPECT_TRUE(close(out, exact, kBound));
  out.square().sum().backward();
  exact.square().sum().backward();
  expect_same_gradients(*attention, weights);
}

TEST_P(EveryFormulation, AnObserverSeesWhatWasComputedAndChangesNothing) {
  nn::Attention attention = make();
  const at::Tensor x = at::randn({kBatch, kTokens, kDim});
  const at::Tensor expected = attention->forward(x);
  std::vector<nn::AttentionProbe> probes;
  attention->observe([&](const nn::AttentionProbe& probe) { probes.push_back(probe); });
  EXPECT_TRUE(identical(attention->forward(x), expected));
  ASSERT_EQ(probes.size(), 1U);
  EXPECT_EQ(probes[0].options.formulation.name, GetParam().name);
  EXPECT_EQ(probes[0].stats.max_logit.sizes(), (at::IntArrayRef{kBatch, kHeads, kTokens}));
  EXPECT_FALSE(probes[0].q.requires_grad());
  EXPECT_TRUE(close(probes[0].k.norm(2, -1), probes[0].stats.k_norm, {.of_largest = 1e-6}));
  attention->observe({});
  EXPECT_TRUE(identical(attention->forward(x), expected));
  EXPECT_EQ(probes.size(), 1U);
}

TEST_P(EveryFormulation, ACloneIsEqualAndItsOwn) {
  nn::Attention attention = make();
  const auto copy = std::dynamic_pointer_cast<nn::AttentionImpl>(attention->clone());
  const at::Tensor x = at::randn({kBatch, kTokens, kDim});
  const at::Tensor expected = attention->forward(x);
  EXPECT_TRUE(identical(copy->forward(x), expected));
  {
    const at::NoGradGuard no_gradients;
    for (auto& parameter : attention->parameters()) {
      parameter.fill_(0.5);
    }
  }
  EXPECT_TRUE(identical(copy->forward(x), expected));
}

INSTANTIATE_TEST_SUITE_P(Nn, EveryFormulation,
                         ::testing::ValuesIn(all_formulations().begin(), all_formulations().end()), formulation_name);

TEST(AttentionModule, CutsQueriesKeysAndValuesWithoutCopies) {
  nn::Attention attention(kDim, kHeads);
  nn::AttentionProbe seen;
  attention->observe([&](const nn::AttentionProbe& probe) { seen = probe; });
  const at::Tensor out = attention->forward(at::randn({kBatch, kTokens, kDim}));
  EXPECT_EQ(seen.q.storage().data_ptr().get(), seen.k.storage().data_ptr().get());
  EXPECT_EQ(seen.q.stride(2), 3 * kDim);
}

TEST(AttentionModule, GainsStartAsInThePythonPackage) {
  const auto names = [](const torch::nn::Module& module) {
    std::vector<std::string> result;
    for (const auto& item : module.named_parameters(/*recurse=*/false)) {
      result.push_back(item.key());
    }
    return result;
  };
  const nn::Attention per_head(nn::AttentionOptions(kDim, kHeads).formulation(formulations::qknorm_hs));
  EXPECT_EQ(names(*per_head), (std::vector<std::string>{"quest_log_gain"}));
  EXPECT_TRUE(
      close(per_head->named_parameters()["quest_log_gain"], at::full({kHeads, 1}, std::log(10.0)), {.of_value = 1e-7}));
  const nn::Attention per_dim(nn::AttentionOptions(kDim, kHeads).formulation(formulations::qknorm_ds));
  EXPECT_EQ(names(*per_dim), (std::vector<std::string>{"quest_query_gain", "quest_key_gain"}));
  EXPECT_TRUE(identical(per_dim->named_parameters()["quest_key_gain"], at::ones({1, kDim / kHeads})));
  const nn::Attention per_both(nn::AttentionOptions(kDim, kHeads).formulation(formulations::qknorm));
  EXPECT_TRUE(identical(per_both->named_parameters()["quest_query_gain"], at::ones({kHeads, kDim / kHeads})));
  EXPECT_TRUE(names(*nn::Attention(kDim, kHeads)).empty());
}

TEST(AttentionModule, TheGainOfAHeadStopsAtAHundred) {
  nn::Attention attention(nn::AttentionOptions(kDim, kHeads).formulation(formulations::qknorm_hs));
  at::Tensor gain = attention->named_parameters()["quest_log_gain"];
  gain.detach().fill_(std::log(100.0));
  const at::Tensor x = at::randn({kBatch, kTokens, kDim});
  const at::Tensor expected = attention->forward(x);
  gain.detach().fill_(9.0);
  EXPECT_TRUE(identical(attention->forward(x), expected));
}

TEST(AttentionModule, MaskAndCausalityLimitWhatIsSeen) {
  torch::manual_seed(3);
  nn::Attention attention(kDim, kHeads);
  const at::Tensor x = at::randn({kBatch, kTokens, kDim});
  const at::Tensor lower = at::ones({kTokens, kTokens}, at::kBool).tril();
  const at::Tensor exact =
      plain_self_attention(formulations::quest, kHeads, wide_weights(*attention), "", x.to(at::kDouble), {}, lower);
  EXPECT_TRUE(close(attention->forward(x, {.mask = lower}), exact, kBound));
  EXPECT_TRUE(close(attention->forward_first(x, 4, {.mask = lower}), exact.narrow(1, 0, 4), kBound));
  attention->options.is_causal(true);
  EXPECT_TRUE(close(attention->forward(x), exact, kBound));
}

TEST(AttentionModule, DropsWeightsInTrainingOnly) {
  nn::Attention attention(nn::AttentionOptions(kDim, kHeads).attention_dropout(0.5));
  const at::Tensor x = at::randn({kBatch, kTokens, kDim});
  EXPECT_FALSE(at::equal(attention->forward(x), attention->forward(x)));
  attention->eval();
  EXPECT_TRUE(at::equal(attention->forward(x), attention->forward(x)));
}

TEST(AttentionModule, PackedSequencesHaveNoFirstRows) {
  nn::Attention attention(kDim, kHeads);
  EXPECT_THROW(attention->forward_first(at::randn({1, 6, kDim}), 2, {.cu_seqlens = at::tensor({0, 6}, at::kInt)}),
               c10::Error);
}

TEST(AttentionModule, RefusesHeadsThatDoNotDivideTheWidth) {
  try {
    nn::Attention(10, 3);
    FAIL() << "expected an error";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("got width 10 and 3 heads"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace quest::testing
