#include "metrics/average_precision.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// For every score as a threshold, from the highest: precision there times the recall it adds.
double brute_force(const at::Tensor& scores, const at::Tensor& targets) {
  std::set<double, std::greater<>> thresholds;
  for (std::int64_t i = 0; i < scores.size(0); ++i) thresholds.insert(scores[i].item<double>());
  double sum = 0;
  double recall_before = 0;
  for (const double threshold : thresholds) {
    double above = 0;
    double hits = 0;
    double positives = 0;
    for (std::int64_t i = 0; i < scores.size(0); ++i) {
      const double target = targets[i].item<double>();
      if (std::isnan(target)) continue;
      positives += target;
      if (scores[i].item<double>() < threshold) continue;
      above += 1;
      hits += target;
    }
    if (above == 0) continue;
    sum += hits / above * (hits / positives - recall_before);
    recall_before = hits / positives;
  }
  return sum;
}

std::vector<std::optional<double>> per_label(const at::Tensor& scores, const at::Tensor& targets) {
  AveragePrecision metric(scores.size(1));
  metric.add(scores, targets);
  return metric.per_label();
}

TEST(AveragePrecision, AgreesWithThresholdsOneByOneWithTiesAndUnknownTargets) {
  torch::manual_seed(1);
  for (int round = 0; round < 20; ++round) {
    const auto scores = torch::randint(0, round < 10 ? 5 : 1000, {40, 3}).to(at::kFloat) / 7;
    auto targets = torch::rand({40, 3}).lt(0.3).to(at::kFloat);
    targets[0].fill_(1.0);
    targets.masked_fill_(torch::rand({40, 3}).lt(0.2), kNan);
    targets[1].fill_(1.0);
    const auto values = per_label(scores, targets);
    double mean = 0;
    for (std::int64_t label = 0; label < 3; ++label) {
      const double expected = brute_force(scores.select(1, label), targets.select(1, label));
      EXPECT_NEAR(values[static_cast<std::size_t>(label)].value(), expected, 1e-12);
      mean += expected / 3;
    }
    AveragePrecision metric(3);
    metric.add(scores, targets);
    EXPECT_NEAR(metric.value(), mean, 1e-12);
  }
}

TEST(AveragePrecision, HasKnownValues) {
  // Precisions 1, 2/3 at the two positives.
  EXPECT_DOUBLE_EQ(*per_label(torch::tensor({{0.9}, {0.8}, {0.7}}), torch::tensor({{1.0}, {0.0}, {1.0}}))[0],
                   5.0 / 6.0);
  // All tied: the share of positives, in whatever order.
  EXPECT_DOUBLE_EQ(*per_label(torch::zeros({4, 1}), torch::tensor({{1.0}, {0.0}, {0.0}, {0.0}}))[0], 0.25);
  EXPECT_DOUBLE_EQ(*per_label(torch::zeros({4, 1}), torch::tensor({{0.0}, {0.0}, {0.0}, {1.0}}))[0], 0.25);
  EXPECT_DOUBLE_EQ(*per_label(torch::tensor({{0.1}, {0.2}}), torch::ones({2, 1}))[0], 1.0);
}

TEST(AveragePrecision, LeavesOutLabelsThatNoSampleHas) {
  const auto scores = torch::tensor({{0.9, 0.1, 0.5}, {0.1, 0.9, 0.5}});
  const auto targets = torch::tensor({{1.0, 0.0, kNan}, {0.0, 0.0, kNan}});
  AveragePrecision metric(3);
  metric.add(scores, targets);
  EXPECT_EQ(metric.value(), 1.0);
  EXPECT_FALSE(metric.per_label()[1]);
  EXPECT_FALSE(metric.per_label()[2]);
}

TEST(AveragePrecision, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(AveragePrecision(2).value()));
  AveragePrecision metric(2);
  metric.add(torch::empty({0, 2}), torch::empty({0, 2}));
  EXPECT_TRUE(std::isnan(metric.value()));
  metric.add(torch::zeros({3, 2}), torch::zeros({3, 2}));
  EXPECT_TRUE(std::isnan(metric.value()));
}

TEST(AveragePrecision, OfScoresThatAreNaNIsNaNWhereTheyCount) {
  const auto scores = torch::tensor({{kNan, kNan}, {0.5, 0.5}});
  EXPECT_TRUE(std::isnan(per_label(scores, torch::tensor({{0.0, 0.0}, {1.0, 1.0}}))[0].value()));
  EXPECT_EQ(per_label(scores, torch::tensor({{kNan, kNan}, {1.0, 1.0}}))[0], 1.0);
  AveragePrecision metric(2);
  metric.add(scores, torch::tensor({{1.0, kNan}, {1.0, 1.0}}));
  EXPECT_TRUE(std::isnan(metric.value()));
}

TEST(AveragePrecision, RefusesWhatItCannotMean) {
  AveragePrecision metric(2);
  EXPECT_THROW(metric.add(torch::zeros({3, 1}), torch::zeros({3, 1})), std::invalid_argument);
  EXPECT_THROW(metric.add(torch::zeros({3, 2}), torch::zeros({2, 2})), std::invalid_argument);
  EXPECT_THROW(metric.add(torch::zeros({1, 2}), torch::tensor({{-1.0, 1.0}})), std::invalid_argument);
}

TEST(AveragePrecision, JoinsRowsExactly) {
  torch::manual_seed(3);
  const auto scores = torch::randint(0, 9, {41, 4}).to(at::kFloat);
  const auto targets = torch::rand({41, 4}).lt(0.4).to(at::kFloat);
  const auto [whole, joined] = testing::whole_and_joined(
      41, [] { return std::make_unique<AveragePrecision>(4); },
      [&](AveragePrecision& metric, std::int64_t first, std::int64_t last) {
        metric.add(scores.slice(0, first, last), targets.slice(0, first, last));
      });
  EXPECT_EQ(whole, joined);
  EXPECT_GT(whole, 0.0);
}

}  // namespace
}  // namespace quest::metrics
