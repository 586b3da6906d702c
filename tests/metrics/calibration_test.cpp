#include "metrics/calibration.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Sums {
  double samples = 0;
  double confidence = 0;
  double hits = 0;
};

std::vector<Sums> brute_force(const at::Tensor& logits, const at::Tensor& labels, std::int64_t bins) {
  std::vector<Sums> sums(static_cast<std::size_t>(bins));
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    std::vector<double> exponentials;
    double total = 0;
    for (std::int64_t j = 0; j < logits.size(1); ++j) total += std::exp(logits[i][j].item<double>());
    std::int64_t choice = 0;
    for (std::int64_t j = 1; j < logits.size(1); ++j) {
      if (logits[i][j].item<double>() > logits[i][choice].item<double>()) choice = j;
    }
    const double confidence = std::exp(logits[i][choice].item<double>()) / total;
    auto& bin = sums[std::min(static_cast<std::size_t>(confidence * static_cast<double>(bins)), sums.size() - 1)];
    bin.samples += 1;
    bin.confidence += confidence;
    bin.hits += choice == labels[i].item<std::int64_t>() ? 1 : 0;
  }
  return sums;
}

TEST(Calibration, AgreesWithOneSampleAfterTheOther) {
  torch::manual_seed(1);
  const auto logits = torch::randn({300, 4}, at::kDouble) * 2;
  const auto labels = torch::randint(0, 4, {300});
  for (const std::int64_t count : {1, 10, 15}) {
    Calibration metric(count);
    metric.add(logits, labels);
    double error = 0;
    double largest = 0;
    const auto bins = metric.bins();
    const auto expected = brute_force(logits, labels, count);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(bins[i].samples, expected[i].samples) << i;
      if (bins[i].samples == 0) continue;
      EXPECT_NEAR(bins[i].confidence, expected[i].confidence / expected[i].samples, 1e-12);
      EXPECT_NEAR(bins[i].accuracy, expected[i].hits / expected[i].samples, 1e-12);
      error += std::abs(expected[i].hits - expected[i].confidence) / 300;
      largest = std::max(largest, std::abs(expected[i].hits - expected[i].confidence) / expected[i].samples);
    }
    EXPECT_NEAR(metric.value(), error, 1e-12);
    EXPECT_NEAR(metric.largest_error(), largest, 1e-12);
  }
}

TEST(Calibration, CertaintyIsInTheLastBin) {
  Calibration metric(15);
  metric.add(torch::tensor({{1000.0, 0.0}, {0.0, 1000.0}}), torch::tensor({0, 0}));
  EXPECT_EQ(metric.bins().back().samples, 2);
  EXPECT_EQ(metric.all().confidence, 1.0);
  EXPECT_EQ(metric.all().accuracy, 0.5);
  EXPECT_EQ(metric.value(), 0.5);
  EXPECT_EQ(metric.largest_error(), 0.5);
}

TEST(Calibration, OfNothingIsNaN) {
  Calibration metric(3);
  metric.add(torch::empty({0, 2}), torch::empty({0}, at::kLong));
  EXPECT_TRUE(std::isnan(metric.value()));
  EXPECT_TRUE(std::isnan(metric.largest_error()));
  EXPECT_EQ(metric.all().samples, 0);
  EXPECT_THROW(Calibration(0), std::invalid_argument);
}

TEST(Calibration, OfLogitsThatAreNaNIsNaN) {
  Calibration metric(3);
  metric.add(torch::tensor({{kNan, 0.0}, {9.0, 0.0}}), torch::tensor({0, 0}));
  EXPECT_TRUE(std::isnan(metric.value()));
  EXPECT_TRUE(std::isnan(metric.largest_error()));
  EXPECT_EQ(metric.all().samples, 2);
}

TEST(Calibration, ItsStateIsACopy) {
  Calibration metric(3);
  metric.add(torch::tensor({{9.0, 0.0}}), torch::tensor({0}));
  const auto state = metric.state();
  metric.add(torch::tensor({{9.0, 0.0}}), torch::tensor({0}));
  EXPECT_EQ(state.select(0, 0).sum().item<double>(), 1.0);
}

TEST(Calibration, Joins) {
  torch::manual_seed(2);
  const auto logits = torch::randn({31, 3});
  const auto labels = torch::randint(0, 3, {31});
  const auto [whole, joined] = testing::whole_and_joined(
      31, [] { return std::make_unique<Calibration>(5); },
      [&](Calibration& metric, std::int64_t first, std::int64_t last) {
        metric.add(logits.slice(0, first, last), labels.slice(0, first, last));
      });
  EXPECT_NEAR(whole, joined, 1e-14);
}

}  // namespace
}  // namespace quest::metrics
