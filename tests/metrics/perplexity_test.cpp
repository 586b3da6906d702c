#include "metrics/perplexity.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double perplexity(const at::Tensor& logits, const at::Tensor& targets,
                  std::optional<std::int64_t> ignored = std::nullopt) {
  Perplexity metric(ignored);
  metric.add(logits, targets);
  return metric.value();
}

TEST(Perplexity, AgreesWithOneTokenAfterTheOther) {
  torch::manual_seed(1);
  const auto logits = torch::randn({4, 6, 9}, at::kDouble) * 3;
  auto targets = torch::randint(0, 9, {4, 6});
  targets.masked_fill_(torch::rand({4, 6}).lt(0.3), -100);
  double nll = 0;
  double tokens = 0;
  for (std::int64_t i = 0; i < 24; ++i) {
    const auto target = targets.flatten()[i].item<std::int64_t>();
    if (target == -100) continue;
    const auto row = logits.view({24, 9})[i];
    double total = 0;
    for (std::int64_t j = 0; j < 9; ++j) total += std::exp(row[j].item<double>());
    nll -= std::log(std::exp(row[target].item<double>()) / total);
    tokens += 1;
  }
  ASSERT_LT(tokens, 24);
  EXPECT_NEAR(perplexity(logits, targets, -100), std::exp(nll / tokens), 1e-10);
}

TEST(Perplexity, OfAModelThatKnowsNothingIsTheSizeOfTheVocabulary) {
  EXPECT_NEAR(perplexity(torch::zeros({7, 50}), torch::randint(0, 50, {7})), 50.0, 1e-4);
  EXPECT_NEAR(perplexity(torch::zeros({7, 50}, at::kBFloat16), torch::randint(0, 50, {7})), 50.0, 1e-4);
}

TEST(Perplexity, TakesSumsToo) {
  Perplexity metric;
  metric.add(2.0 * std::log(3.0), 2.0);
  EXPECT_DOUBLE_EQ(metric.value(), 3.0);
}

TEST(Perplexity, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(Perplexity().value()));
  EXPECT_TRUE(std::isnan(perplexity(torch::empty({0, 3}), torch::empty({0}, at::kLong))));
  EXPECT_TRUE(std::isnan(perplexity(torch::zeros({2, 3}), torch::full({2}, -1, at::kLong), -1)));
}

TEST(Perplexity, OfImpossibleTokensIsInfiniteAndOfNaNIsNaN) {
  const double never = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(perplexity(torch::tensor({{0.0, never}}), torch::tensor({1})), -never);
  EXPECT_TRUE(std::isnan(perplexity(torch::tensor({{0.0, kNan}}), torch::tensor({0}))));
}

TEST(Perplexity, Joins) {
  torch::manual_seed(2);
  const auto logits = torch::randn({19, 5});
  const auto targets = torch::randint(0, 5, {19});
  const auto [whole, joined] = testing::whole_and_joined(
      19, [] { return std::make_unique<Perplexity>(); },
      [&](Perplexity& metric, std::int64_t first, std::int64_t last) {
        metric.add(logits.slice(0, first, last), targets.slice(0, first, last));
      });
  EXPECT_NEAR(whole, joined, 1e-13 * whole);
}

}  // namespace
}  // namespace quest::metrics
