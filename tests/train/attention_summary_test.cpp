// The figures of a head against the plain formula in float64, over every pair of options.

#include "train/monitor/attention_summary.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "tests/attention/attention_case.h"
#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::train {
namespace {

using testing::AttentionCase;
using testing::GainShape;
using testing::LengthKind;

nn::AttentionProbe probe_of(const testing::AttentionInputs& inputs) {
  return {.q = inputs.q,
          .k = inputs.k,
          .options = inputs.options,
          .stats = attention_with_stats(inputs.q, inputs.k, inputs.v, inputs.options).stats};
}

LayerRecord record_of(const nn::AttentionProbe& probe) { return layer_record(summarize(probe), 7, "layer"); }

// What a layer can be given: no packed batches, and gains with a place for heads and one for dimensions.
std::vector<AttentionCase> layer_cases() {
  auto cases = testing::pairwise_attention_cases();
  std::erase_if(cases, [](const AttentionCase& test) {
    return test.lengths == LengthKind::packed || test.type != at::kFloat || test.gain == GainShape::heads ||
           test.gain == GainShape::dims;
  });
  return testing::of_test_set(std::move(cases));
}

std::vector<double> norms_of(const at::Tensor& rows) {
  std::vector<double> norms;
  for (const double norm : testing::elements(rows.to(at::kDouble).norm(2, -1))) {
    if (norm > 0.0) norms.push_back(norm);
  }
  std::ranges::sort(norms);
  return norms;
}

class Summary : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Summary, IsThatOfThePlainFormula) {
  const auto inputs = testing::make_inputs(GetParam());
  const auto wide = testing::in_double(inputs);
  const at::NoGradGuard no_grad;
  const auto exact = testing::oracle_attention(wide.q, wide.k, wide.v, wide.options).stats;
  const at::Tensor weights = testing::oracle_weights(wide.q, wide.k, wide.options);
  const LayerRecord record = record_of(probe_of(inputs));
  ASSERT_EQ(record.heads(), static_cast<std::size_t>(wide.q.size(1)));
  for (std::int64_t head = 0; head < wide.q.size(1); ++head) {
    const at::Tensor logits = exact.max_logit.select(1, head);
    const double largest = logits.max().item<double>();
    if (!std::isfinite(largest)) continue;  // every row is masked
    EXPECT_NEAR(record.max_logit[head], largest, 1e-5 * (1.0 + std::abs(largest)));
    const auto row = logits.argmax().item<std::int64_t>();
    const std::int64_t b = row / logits.size(1);
    const std::int64_t i = row % logits.size(1);
    const auto j = weights[b][head][i].argmax().item<std::int64_t>();
    const std::int64_t key_head = head * wide.k.size(1) / wide.q.size(1);
    EXPECT_NEAR(record.query_norm[head], wide.q[b][head][i].norm().item<double>(), 1e-5);
    EXPECT_NEAR(record.key_norm[head], wide.k[b][key_head][j].norm().item<double>(), 1e-5);

    const at::Tensor seeing = (exact.max_logit.select(1, head) > -INFINITY).sum(-1).to(at::kDouble);
    EXPECT_NEAR(record.entropy[head], (exact.entropy.select(1, head).sum() / seeing.sum()).item<double>(), 1e-5);
    const at::Tensor mass = weights.select(1, head).sum(1).amax(-1);
    EXPECT_NEAR(record.sink[head], (mass / seeing.clamp_min(1)).mean().item<double>(), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Options, Summary, ::testing::ValuesIn(layer_cases()),
                         testing::case_name<::testing::TestParamInfo<AttentionCase>>);

nn::AttentionProbe plain_probe(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options = {}) {
  return {.q = q, .k = k, .options = options, .stats = attention_with_stats(q, k, k, options).stats};
}

// Sequences of a packed batch are those of a padded one: what is a mean over sequences stays one.
TEST(PackedSummary, IsThatOfTheSequences) {
  torch::manual_seed(1);
  const std::vector<std::int64_t> lengths = {5, 1, 9};
  const at::Tensor tokens = torch::randn({1, 2, 15, 8});
  const at::Tensor bounds = torch::tensor({0, 5, 5, 6, 15}, at::kInt);  // one sequence has no token
  const LayerRecord packed = record_of(plain_probe(tokens, tokens, {.cu_seqlens_q = bounds, .cu_seqlens_k = bounds}));
  std::vector<double> sink(2);
  std::vector<double> entropy(2);
  std::int64_t first = 0;
  for (const auto length : lengths) {
    const at::Tensor own = tokens.narrow(2, first, length);
    const LayerRecord record = record_of(plain_probe(own, own));
    for (std::size_t head = 0; head < 2; ++head) {
      sink[head] += record.sink[head] / 3.0;
      entropy[head] += record.entropy[head] * static_cast<double>(length) / 15.0;
    }
    first += length;
  }
  for (std::size_t head = 0; head < 2; ++head) {
    EXPECT_NEAR(packed.sink[head], sink[head], 1e-5);
    EXPECT_NEAR(packed.entropy[head], entropy[head], 1e-5);
  }
}

TEST(SummaryQuantiles, AreThoseOfAllTokens) {
  torch::manual_seed(1);
  const at::Tensor q = torch::randn({2, 3, 33, 8}) * torch::arange(1, 4).view({1, 3, 1, 1});
  const at::Tensor k = torch::randn({2, 3, 21, 8});
  const LayerRecord record = record_of(plain_probe(q, k));
  for (std::int64_t head = 0; head < 3; ++head) {
    for (const auto& [tensor, found] : {std::pair(q, record.query_norms[head]), std::pair(k, record.key_norms[head])}) {
      const auto norms = norms_of(tensor.select(1, head));
      for (std::size_t i = 0; i < kNormQuantiles.size(); ++i) {
        const auto rank = static_cast<std::size_t>(kNormQuantiles.at(i) * static_cast<double>(norms.size() - 1));
        EXPECT_NEAR(found.at(i), norms[rank], 1e-5);
      }
    }
  }
}

TEST(SummaryQuantiles, LeavePaddingOut) {
  torch::manual_seed(1);
  const at::Tensor k = torch::randn({2, 1, 40, 8}) + 3.0;
  const LayerRecord record = record_of(plain_probe(k, k, {.key_lengths = torch::tensor({2, 3})}));
  const at::Tensor existing = torch::cat({k[0][0].slice(0, 0, 2), k[1][0].slice(0, 0, 3)});
  EXPECT_NEAR(record.key_norms[0][0], norms_of(existing).front(), 1e-5);
  EXPECT_NEAR(record.key_norms[0][2], norms_of(existing)[2], 1e-5);
}

TEST(SummaryQuantiles, OfManyTokensAreClose) {
  torch::manual_seed(1);
  const at::Tensor q = torch::rand({1000, 1, 20, 1}) + 1.0;
  const LayerRecord record = record_of(plain_probe(q, q));
  // Of 4,000 of the 20,000 tokens: five standard deviations of a sample's median are 5 · 0.5 / √4000.
  EXPECT_NEAR(record.query_norms[0][2], 1.5, 0.04);
}

TEST(SummaryFigures, OfDivergedAttentionIsNotFinite) {
  const at::Tensor q = torch::full({1, 2, 3, 8}, NAN);
  EXPECT_FALSE(std::isfinite(record_of(plain_probe(q, q)).max_logit[0]));
}

}  // namespace
}  // namespace quest::train
