#include "bench/measure.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

namespace quest::bench {
namespace {

void ignore_progress(double /*done*/) {}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(quantile({3.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_DOUBLE_EQ(quantile({4.0, 1.0, 2.0, 3.0}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4.0, 1.0, 2.0, 3.0}, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile({7.0}, 0.25), 7.0);
  EXPECT_THROW(static_cast<void>(quantile({}, 0.5)), std::invalid_argument);
}

TEST(GeometricMean, IsTheRootOfTheProduct) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::array{2.0, 8.0}), 4.0);
  EXPECT_DOUBLE_EQ(geometric_mean(std::array{3.0}), 3.0);
}

TEST(Measure, MedianIgnoresAFewSlowSamples) {
  int calls = 0;
  const Contestant steady = [] { return 0.010; };
  const Contestant disturbed = [&calls] { return ++calls % 5 == 0 ? 1.0 : 0.020; };
  const auto times = measure_interleaved(std::array{steady, disturbed}, {.budget_seconds = 0.0}, ignore_progress);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_DOUBLE_EQ(times[0].median_ms, 10.0);
  EXPECT_DOUBLE_EQ(times[1].median_ms, 20.0);
  EXPECT_DOUBLE_EQ(times[0].relative_spread, 0.0);
}

TEST(Measure, ContestantsTakeTurnsAndTheStarterRotates) {
  std::string order;
  const Contestant a = [&order] { return order += 'a', 1.0; };
  const Contestant b = [&order] { return order += 'b', 1.0; };
  static_cast<void>(measure_interleaved(std::array{a, b}, {.least_repetitions = 3}, ignore_progress));
  EXPECT_EQ(order,
            "aaabbb"
            "abbaab");
}

TEST(Measure, ShortRunsAreRepeatedWithinASample) {
  int calls = 0;
  const Contestant quick = [&calls] { return ++calls, 1e-3; };
  static_cast<void>(measure_interleaved(
      std::array{quick}, {.least_repetitions = 15, .sample_seconds = 3.5e-3, .budget_seconds = 0.0}, ignore_progress));
  EXPECT_EQ(calls, 3 + 15 * 4);
}

TEST(Measure, TheBudgetAddsSamplesUpToTheMost) {
  const auto calls_with_budget = [](double budget) {
    int calls = 0;
    const Contestant run = [&calls] { return ++calls, 0.1; };
    static_cast<void>(measure_interleaved(
        std::array{run}, {.least_repetitions = 15, .most_repetitions = 40, .budget_seconds = budget}, ignore_progress));
    return calls - 3;
  };
  EXPECT_EQ(calls_with_budget(0.0), 15);
  EXPECT_EQ(calls_with_budget(1.95), 20);
  EXPECT_EQ(calls_with_budget(100.0), 40);
}

TEST(Measure, ReportsProgressUpToOne) {
  double last = 0.0;
  const Contestant run = [] { return 1.0; };
  static_cast<void>(measure_interleaved(std::array{run}, {}, [&last](double done) {
    EXPECT_GT(done, last);
    last = done;
  }));
  EXPECT_DOUBLE_EQ(last, 1.0);
}

}  // namespace
}  // namespace quest::bench
