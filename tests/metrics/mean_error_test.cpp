#include "metrics/mean_error.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Kind = MeanError::Kind;

double error(Kind kind, const at::Tensor& predictions, const at::Tensor& targets) {
  MeanError metric(kind);
  metric.add(predictions, targets);
  return metric.value();
}

TEST(MeanError, AgreesWithOneNumberAfterTheOther) {
  torch::manual_seed(1);
  const auto predictions = torch::randn({11, 3});
  auto targets = torch::randn({11, 3});
  targets.masked_fill_(torch::rand({11, 3}).lt(0.3), kNan);
  double absolute = 0;
  double squared = 0;
  double count = 0;
  for (std::int64_t i = 0; i < 33; ++i) {
    const double target = targets.flatten()[i].item<double>();
    if (std::isnan(target)) continue;
    const double difference = predictions.flatten()[i].item<double>() - target;
    absolute += std::abs(difference);
    squared += difference * difference;
    count += 1;
  }
  ASSERT_GT(count, 5);
  ASSERT_LT(count, 33);
  EXPECT_NEAR(error(Kind::absolute, predictions, targets), absolute / count, 1e-12);
  EXPECT_NEAR(error(Kind::squared, predictions, targets), squared / count, 1e-12);
}

TEST(MeanError, IsTakenInDoublePrecision) {
  EXPECT_EQ(error(Kind::absolute, torch::full({1}, 16777216.0F), torch::full({1}, -1.0F)), 16777217.0);
}

TEST(MeanError, OfNothingOrUnknownTargetsIsNaN) {
  EXPECT_TRUE(std::isnan(MeanError(Kind::absolute).value()));
  EXPECT_TRUE(std::isnan(error(Kind::squared, torch::empty({0}), torch::empty({0}))));
  EXPECT_TRUE(std::isnan(error(Kind::squared, torch::zeros({3}), torch::full({3}, kNan))));
}

TEST(MeanError, OfPredictionsThatAreNaNIsNaN) {
  EXPECT_TRUE(std::isnan(error(Kind::absolute, torch::tensor({kNan, 0.0}), torch::tensor({0.0, 0.0}))));
}

TEST(MeanError, RefusesShapesThatWouldBroadcast) {
  EXPECT_THROW((void)error(Kind::absolute, torch::zeros({3, 1}), torch::zeros({3})), std::invalid_argument);
}

TEST(MeanError, Joins) {
  torch::manual_seed(2);
  const auto predictions = torch::randn({25});
  const auto targets = torch::randn({25});
  const auto [whole, joined] = testing::whole_and_joined(
      25, [] { return std::make_unique<MeanError>(Kind::squared); },
      [&](MeanError& metric, std::int64_t first, std::int64_t last) {
        metric.add(predictions.slice(0, first, last), targets.slice(0, first, last));
      });
  EXPECT_NEAR(whole, joined, 1e-14 * whole);
}

}  // namespace
}  // namespace quest::metrics
