// Encoders of nodes and edges: features, Laplacian eigenvectors and random walks.

#include "quest/nn/graph_encoding.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

at::Tensor ids_below(const std::vector<std::int64_t>& categories, std::int64_t rows) {
  std::vector<at::Tensor> columns;
  for (const std::int64_t count : categories) columns.push_back(at::randint(count, {rows}, at::kLong));
  return at::stack(columns, 1);
}

TEST(FeatureEncoder, AddsAnEmbeddingOfEachFeature) {
  torch::manual_seed(1);
  const std::vector<std::int64_t> categories = {7, 3, 2};
  nn::FeatureEncoder encoder(nn::FeatureEncoderOptions(10).categories(categories));
  EXPECT_EQ(encoder->table.sizes(), (at::IntArrayRef{12, 10}));
  const at::Tensor ids = ids_below(categories, 50);
  const at::Tensor out = encoder->forward(ids, {}, 50);
  const at::Tensor wide = encoder->table.detach().to(at::kDouble).requires_grad_();
  const at::Tensor exact = wide.index_select(0, ids.select(1, 0)) + wide.index_select(0, ids.select(1, 1) + 7) +
                           wide.index_select(0, ids.select(1, 2) + 10);
  EXPECT_TRUE(close(out, exact, {.of_largest = 1e-6}));
  out.square().sum().backward();
  exact.square().sum().backward();
  EXPECT_TRUE(close(encoder->table.grad(), wide.grad(), {.of_largest = 1e-5}));
}

TEST(FeatureEncoder, StartsAsTheExperimentsDo) {
  torch::manual_seed(2);
  const nn::FeatureEncoder alone(nn::FeatureEncoderOptions(500).categories({28}));
  EXPECT_NEAR(alone->table.std().item<double>(), 1.0, 0.03);
  const nn::FeatureEncoder several(nn::FeatureEncoderOptions(60).categories({119, 4}));
  const at::Tensor first = several->table.narrow(0, 0, 119);
  const at::Tensor second = several->table.narrow(0, 119, 4);
  EXPECT_NEAR(first.abs().max().item<double>(), std::sqrt(6.0 / (119 + 60)), 2e-3);
  EXPECT_NEAR(second.abs().max().item<double>(), std::sqrt(6.0 / (4 + 60)), 5e-3);
}

TEST(FeatureEncoder, TakesValuesOrNothing) {
  torch::manual_seed(3);
  nn::FeatureEncoder linear(nn::FeatureEncoderOptions(6).values(3));
  const at::Tensor values = at::randn({5, 3});
  EXPECT_TRUE(identical(linear->forward({}, values, 5), linear->linear->forward(values)));
  nn::FeatureEncoder vector(nn::FeatureEncoderOptions(6));
  const at::Tensor out = vector->forward({}, {}, 4);
  EXPECT_TRUE(identical(out, vector->vector.expand({4, 6})));
  out.sum().backward();
  EXPECT_TRUE(identical(vector->vector.grad(), at::full({1, 6}, 4.0F)));
  EXPECT_EQ(vector->forward({}, {}, 0).sizes(), (at::IntArrayRef{0, 6}));
}

TEST(FeatureEncoder, RefusesUnknownCategoriesAndShapes) {
  nn::FeatureEncoder encoder(nn::FeatureEncoderOptions(6).categories({3, 2}));
  EXPECT_NO_THROW(encoder->forward(at::tensor({2, 1}, at::kLong).unsqueeze(0), {}, 1));
  EXPECT_THROW(encoder->forward(at::tensor({3, 1}, at::kLong).unsqueeze(0), {}, 1), c10::Error);
  EXPECT_THROW(encoder->forward(at::tensor({0, -1}, at::kLong).unsqueeze(0), {}, 1), c10::Error);
  EXPECT_THROW(encoder->forward(at::zeros({1, 3}, at::kLong), {}, 1), c10::Error);
  EXPECT_THROW(encoder->forward({}, {}, 1), c10::Error);
  EXPECT_THROW(nn::FeatureEncoder(nn::FeatureEncoderOptions(6).categories({3}).values(2)), c10::Error);
  EXPECT_EQ(encoder->forward(at::zeros({0, 2}, at::kLong), {}, 0).sizes(), (at::IntArrayRef{0, 6}));
}

TEST(LaplacianEncoder, SumsAnMlpOfThePairsThatExist) {
  torch::manual_seed(4);
  nn::LaplacianEncoder encoder(nn::LaplacianEncoderOptions(5));
  encoder->eval();
  at::Tensor vectors = at::randn({4, 3});
  at::Tensor values = at::rand({4, 3});
  vectors[1][2] = kNaN;
  values[1][2] = kNaN;
  const at::Tensor out = encoder->forward(vectors, values);
  const auto wide = [](const at::Tensor& x) { return x.detach().to(at::kDouble); };
  for (std::int64_t node = 0; node < 4; ++node) {
    at::Tensor sum = at::zeros({5}, at::kDouble);
    for (std::int64_t term = 0; term < (node == 1 ? 2 : 3); ++term) {
      const at::Tensor pair = at::stack({wide(vectors)[node][term], wide(values)[node][term]});
      const at::Tensor hidden = (wide(encoder->fc1->weight).mv(pair) + wide(encoder->fc1->bias)).relu();
      sum += (wide(encoder->fc2->weight).mv(hidden) + wide(encoder->fc2->bias)).relu();
    }
    EXPECT_TRUE(close(out[node], sum, {.of_largest = 1e-6}));
  }
  out.sum().backward();
  EXPECT_TRUE(all_finite(encoder->fc1->weight.grad()));
  EXPECT_EQ(encoder->fc1->weight.sizes(), (at::IntArrayRef{10, 2}));
}

TEST(LaplacianEncoder, DrawsOneSignForEachFrequencyOfABatch) {
  torch::manual_seed(5);
  constexpr std::int64_t kTerms = 2;
  nn::LaplacianEncoder encoder(nn::LaplacianEncoderOptions(7));
  const at::Tensor vectors = at::randn({20, kTerms});
  const at::Tensor values = at::rand({20, kTerms});
  encoder->eval();
  std::vector<at::Tensor> possible;
  for (const float first : {1.0F, -1.0F}) {
    for (const float second : {1.0F, -1.0F}) {
      possible.push_back(encoder->forward(vectors * at::tensor({first, second}), values));
    }
  }
  encoder->train();
  std::vector<int> seen(possible.size(), 0);
  constexpr int kDraws = 400;
  for (int draw = 0; draw < kDraws; ++draw) {
    const at::Tensor out = encoder->forward(vectors, values);
    for (std::size_t i = 0; i < possible.size(); ++i) seen[i] += at::equal(out, possible[i]) ? 1 : 0;
  }
  EXPECT_EQ(seen[0] + seen[1] + seen[2] + seen[3], kDraws);
  for (const int count : seen) EXPECT_NEAR(count, kDraws / 4, 45);
}

TEST(RandomWalkEncoder, NormalisesAndProjects) {
  torch::manual_seed(6);
  nn::RandomWalkEncoder encoder(nn::RandomWalkEncoderOptions(20, 28));
  const at::Tensor returns = at::rand({50, 20}, at::kDouble);
  const at::Tensor centred = returns - returns.mean(0);
  const at::Tensor normal = centred / (centred.square().mean(0) + 1e-5).sqrt();
  const at::Tensor exact =
      at::linear(normal, encoder->linear->weight.to(at::kDouble), encoder->linear->bias.to(at::kDouble));
  EXPECT_TRUE(close(encoder->forward(returns.to(at::kFloat)), exact, {.of_largest = 1e-5}));
}

}  // namespace
}  // namespace quest::testing
