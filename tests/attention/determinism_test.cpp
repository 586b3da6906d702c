// Same inputs, same bits: whatever the number of threads, and with dropout for the same seed.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/attention/attention_case.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

std::vector<AttentionCase> threaded_cases() {
  return {
      {.shape = {.batch = 2, .heads = 3, .queries = 197, .dim = 64}},
      {.shape = {.batch = 1, .heads = 1, .queries = 577, .dim = 16}, .causal = CausalKind::top_left},
      {.shape = {.batch = 1, .heads = 4, .queries = 257, .dim = 40, .keys = 63, .value_dim = 24, .kv_heads = 1},
       .formulation = formulations::qknorm,
       .gain = GainShape::heads_and_dims},
      {.shape = {.batch = 2, .heads = 2, .queries = 65, .dim = 32, .keys = 197},
       .formulation = formulations::standard,
       .gain = GainShape::scalar,
       .mask = MaskShape::additive_keys,
       .dropout = 0.2},
      {.shape = {.batch = 2, .heads = 4, .queries = 63, .dim = 20, .kv_heads = 2},
       .lengths = LengthKind::packed,
       .type = at::kBFloat16},
  };
}

class Threads : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Threads, ChangeNoBit) {
  const AttentionInputs inputs = make_inputs(GetParam());
  const auto run = [&](int threads) {
    const ThreadCount count(threads);
    return std::pair(differentiate(inputs, AttentionPath::fused),
                     attention_with_stats(inputs.q, inputs.k, inputs.v, inputs.options).stats);
  };
  const auto [outcome, stats] = run(1);
  for (const int threads : {2, 3, 7}) {
    SCOPED_TRACE(threads);
    const auto [other, other_stats] = run(threads);
    expect_identical(other, outcome);
    EXPECT_TRUE(identical(other_stats.lse, stats.lse));
    EXPECT_TRUE(identical(other_stats.max_logit, stats.max_logit));
    EXPECT_TRUE(identical(other_stats.entropy, stats.entropy));
    EXPECT_TRUE(identical(other_stats.q_norm, stats.q_norm));
    EXPECT_TRUE(identical(other_stats.k_norm, stats.k_norm));
    EXPECT_TRUE(identical(other_stats.key_mass, stats.key_mass));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Threads, ::testing::ValuesIn(threaded_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);

class Dropout : public ::testing::Test {
 protected:
  Dropout() : inputs_(make_inputs({.shape = {.batch = 2, .heads = 2, .queries = 64, .dim = 16}, .dropout = 0.3})) {}

  [[nodiscard]] at::Tensor output(std::optional<std::uint64_t> seed,
                                  AttentionPath path = AttentionPath::automatic) const {
    AttentionOptions options = inputs_.options;
    options.dropout_seed = seed;
    options.path = path;
    return attention(inputs_.q, inputs_.k, inputs_.v, options).detach();
  }

  AttentionInputs inputs_;
};

TEST_F(Dropout, RepeatsForASeedAndDiffersForAnother) {
  EXPECT_TRUE(identical(output(5), output(5)));
  EXPECT_FALSE(identical(output(5), output(6)));
  EXPECT_FALSE(identical(output(5), output(5ULL | (1ULL << 40U))));
}

TEST_F(Dropout, SeedComesFromTorchsGeneratorWhenAbsent) {
  torch::manual_seed(9);
  const at::Tensor first = output(std::nullopt);
  EXPECT_FALSE(identical(output(std::nullopt), first)) << "two calls in a row must draw two seeds";
  torch::manual_seed(9);
  EXPECT_TRUE(identical(output(std::nullopt), first));
}

TEST_F(Dropout, OfTheFusedPathIsThatOfTheReference) {
  EXPECT_TRUE(close(output(5, AttentionPath::fused), output(5, AttentionPath::reference), {.of_largest = 5e-6}));
}

TEST_F(Dropout, BackwardDropsWhatForwardDropped) {
  AttentionOptions options = inputs_.options;
  const at::Tensor identity = at::eye(64).expand({2, 2, 64, 64}).clone().requires_grad_();
  const at::Tensor weights = attention(inputs_.q, inputs_.k, identity, options);
  const at::Tensor gradient = torch::autograd::grad({weights}, {identity}, {at::eye(64).expand({2, 2, 64, 64})})[0];
  EXPECT_TRUE(close(gradient, weights.transpose(-1, -2), {.of_largest = 1e-6}));
  EXPECT_TRUE(at::equal(gradient == 0, weights.transpose(-1, -2) == 0));
}

TEST_F(Dropout, KeepsTheStatedShareAndTheMean) {
  const at::Tensor identity = at::eye(64).expand({2, 2, 64, 64});
  const at::Tensor weights = attention(inputs_.q, inputs_.k, identity, inputs_.options).detach();
  const auto count = static_cast<double>(weights.numel());
  const double deviation = std::sqrt(0.3 * 0.7 / count);
  EXPECT_NEAR((weights == 0).sum().item<double>() / count, 0.3, 5.0 * deviation);
  EXPECT_NEAR(weights.sum(-1).mean().item<double>(), 1.0, 0.02);
}

}  // namespace
}  // namespace quest::testing
