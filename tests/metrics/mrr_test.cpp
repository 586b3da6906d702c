#include "metrics/mrr.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double mrr(const at::Tensor& right, const at::Tensor& others) {
  Mrr metric;
  metric.add(right, others);
  return metric.value();
}

TEST(Mrr, AgreesWithCountingWhoIsAheadWithTies) {
  torch::manual_seed(1);
  const auto right = torch::randint(0, 6, {50}).to(at::kFloat);
  const auto others = torch::randint(0, 6, {50, 9}).to(at::kFloat);
  double expected = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    double best = 1;
    double worst = 1;
    for (std::int64_t j = 0; j < 9; ++j) {
      best += others[i][j].item<float>() > right[i].item<float>() ? 1 : 0;
      worst += others[i][j].item<float>() >= right[i].item<float>() ? 1 : 0;
    }
    expected += 1 / ((best + worst) / 2) / 50;
  }
  EXPECT_NEAR(mrr(right, others), expected, 1e-12);
}

TEST(Mrr, AConstantModelGetsTheMiddleRank) { EXPECT_EQ(mrr(torch::zeros({4}), torch::zeros({4, 6})), 1.0 / 4.0); }

TEST(Mrr, CandidatesOfMinusInfinityStandForNone) {
  EXPECT_EQ(mrr(torch::tensor({0.5}), torch::tensor({{-kInfinity, -kInfinity, 0.9}})), 0.5);
  EXPECT_EQ(mrr(torch::tensor({0.5}), torch::empty({1, 0})), 1.0);
}

TEST(Mrr, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(Mrr().value()));
  EXPECT_TRUE(std::isnan(mrr(torch::empty({0}), torch::empty({0, 3}))));
}

TEST(Mrr, OfScoresThatAreNaNIsNaN) {
  EXPECT_TRUE(std::isnan(mrr(torch::tensor({kNan, 1.0}), torch::zeros({2, 1}))));
  EXPECT_TRUE(std::isnan(mrr(torch::tensor({1.0, 1.0}), torch::tensor({{0.0, kNan}, {0.0, 0.0}}))));
  const auto ranks = reciprocal_ranks(torch::tensor({kNan, 1.0}), torch::zeros({2, 1}));
  EXPECT_TRUE(std::isnan(ranks[0].item<double>()));
  EXPECT_EQ(ranks[1].item<double>(), 1.0);
}

TEST(Mrr, RefusesOtherShapes) {
  EXPECT_THROW((void)mrr(torch::zeros({3}), torch::zeros({3})), std::invalid_argument);
  EXPECT_THROW((void)mrr(torch::zeros({3}), torch::zeros({2, 3})), std::invalid_argument);
}

TEST(Mrr, Joins) {
  torch::manual_seed(2);
  const auto right = torch::randn({21});
  const auto others = torch::randn({21, 5});
  const auto [whole, joined] = testing::whole_and_joined(
      21, [] { return std::make_unique<Mrr>(); },
      [&](Mrr& metric, std::int64_t first, std::int64_t last) {
        metric.add(right.slice(0, first, last), others.slice(0, first, last));
      });
  EXPECT_NEAR(whole, joined, 1e-14);
}

}  // namespace
}  // namespace quest::metrics
