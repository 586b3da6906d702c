#include "metrics/accuracy.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double accuracy(const at::Tensor& logits, const at::Tensor& labels, std::int64_t top = 1) {
  Accuracy metric(top);
  metric.add(logits, labels);
  return metric.value();
}

// Of classes in order of their logit, the earlier one first among equals, the label is one of the first k.
double counted(const at::Tensor& logits, const at::Tensor& labels, std::int64_t top) {
  double hits = 0;
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    const auto label = labels[i].item<std::int64_t>();
    std::int64_t ahead = 0;
    for (std::int64_t j = 0; j < logits.size(1); ++j) {
      const auto other = logits[i][j].item<float>();
      const auto own = logits[i][label].item<float>();
      ahead += other > own || (other == own && j < label) ? 1 : 0;
    }
    hits += ahead < top ? 1 : 0;
  }
  return hits / static_cast<double>(logits.size(0));
}

TEST(Accuracy, CountsLabelsAmongTheLargestLogitsAndBreaksTiesByOrder) {
  torch::manual_seed(1);
  for (const std::int64_t top : {1, 2, 5, 9}) {
    // Few different values: ties everywhere.
    const auto logits = torch::randint(0, 4, {200, 7}).to(at::kFloat);
    const auto labels = torch::randint(0, 7, {200});
    EXPECT_EQ(accuracy(logits, labels, top), counted(logits, labels, top)) << top;
  }
}

TEST(Accuracy, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(Accuracy().value()));
  EXPECT_TRUE(std::isnan(accuracy(torch::empty({0, 3}), torch::empty({0}, at::kLong))));
}

TEST(Accuracy, DoesNotTakeADivergedModelForARightOne) {
  const auto logits = torch::tensor({{kNan, kNan}, {kNan, 1.0}, {1.0, kNan}, {1.0, 0.0}});
  EXPECT_EQ(accuracy(logits, torch::tensor({0, 1, 0, 0})), 0.25);
  EXPECT_EQ(accuracy(logits, torch::tensor({0, 1, 0, 0}), 2), 0.25);
}

TEST(Accuracy, InfiniteLogitsWinAndLose) {
  const auto logits = torch::tensor({{kInfinity, 1.0}, {-kInfinity, 1.0}, {-kInfinity, -kInfinity}});
  EXPECT_EQ(accuracy(logits, torch::tensor({0, 1, 0})), 2.0 / 3.0);
}

TEST(Accuracy, JoinsExactly) {
  torch::manual_seed(2);
  const auto logits = torch::randn({33, 5});
  const auto labels = torch::randint(0, 5, {33});
  const auto [whole, joined] = testing::whole_and_joined(
      33, [] { return std::make_unique<Accuracy>(2); },
      [&](Accuracy& metric, std::int64_t first, std::int64_t last) {
        metric.add(logits.slice(0, first, last), labels.slice(0, first, last));
      });
  EXPECT_EQ(whole, joined);
  EXPECT_GT(whole, 0.0);
}

}  // namespace
}  // namespace quest::metrics
