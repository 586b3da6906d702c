// Figures worked out by hand; what torch.optim.lr_scheduler has is compared with it in test_torch.py.

#include "train/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace quest::testing {
namespace {

using train::learning_rate;
using train::ScheduleOptions;

double half_cosine(double part) { return 0.5 * (1 + std::cos(std::numbers::pi * part)); }

TEST(Schedule, CosineStartsWhereTheWarmUpEnds) {
  const ScheduleOptions options{.warmup_epochs = 2, .warmup_lr = 0.1, .min_lr = 0.01};
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 0, 100, 10), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 5, 100, 10), 0.1 + 0.9 * 5 / 20);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 20, 100, 10), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 40, 100, 10), 0.01 + 0.99 * half_cosine(0.25));
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 100, 100, 10), 0.01);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 150, 100, 10), 0.01);
}

// 300 epochs of 4 steps, rate 1e-3: warm-up of 5 epochs from 1e-6, cosine over all 300, one epoch late.
TEST(Schedule, DeitChangesTheRateOnceAnEpochAndLate) {
  const ScheduleOptions deit{
      .every = "late_epoch", .warmup_epochs = 5, .warmup_lr = 1e-6, .warmup_apart = false, .min_lr = 1e-5};
  const auto epoch = [&](std::int64_t e, std::int64_t step = 0) {
    return learning_rate(deit, 1e-3, 4 * e + step, 1200, 4);
  };
  EXPECT_DOUBLE_EQ(epoch(0), 1e-6);
  EXPECT_DOUBLE_EQ(epoch(1, 3), 1e-6);
  EXPECT_DOUBLE_EQ(epoch(2), 1e-6 + (1e-3 - 1e-6) / 5);
  EXPECT_DOUBLE_EQ(epoch(5), 1e-6 + 4 * (1e-3 - 1e-6) / 5);
  EXPECT_DOUBLE_EQ(epoch(6), 1e-5 + (1e-3 - 1e-5) * half_cosine(5.0 / 300));
  EXPECT_DOUBLE_EQ(epoch(299, 3), 1e-5 + (1e-3 - 1e-5) * half_cosine(298.0 / 300));
}

TEST(Schedule, PerEpochWithoutDelay) {
  const ScheduleOptions options{.every = "epoch", .warmup_epochs = 5};
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 11, 200, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 99, 200, 10), half_cosine(4.0 / 15));
}

// Linear for 2000 steps, then the cosine that has been running since step 0.
TEST(Schedule, LanguageModelsCountTheWarmUp) {
  const ScheduleOptions options{.warmup_steps = 2000, .warmup_apart = false};
  EXPECT_DOUBLE_EQ(learning_rate(options, 2.5e-4, 0, 500000, 1000), 0.0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 2.5e-4, 500, 500000, 1000), 2.5e-4 / 4);
  EXPECT_DOUBLE_EQ(learning_rate(options, 2.5e-4, 2000, 500000, 1000), 2.5e-4 * half_cosine(2000.0 / 500000));
}

TEST(Schedule, PolynomialEndsAtTheLeastRate) {
  const ScheduleOptions options{.name = "polynomial", .min_lr = 1e-5};
  EXPECT_DOUBLE_EQ(learning_rate(options, 1e-3, 0, 160000, 1), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1e-3, 40000, 160000, 1), (1e-3 - 1e-5) * std::pow(0.75, 0.9) + 1e-5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1e-3, 160000, 160000, 1), 1e-5);
}

TEST(Schedule, ConstantMayWarmUp) {
  EXPECT_EQ(learning_rate({.name = "constant"}, 0.5, 7, 10, 5), 0.5);
  EXPECT_EQ(learning_rate({.name = "constant", .warmup_steps = 4}, 0.5, 2, 10, 5), 0.25);
  EXPECT_EQ(learning_rate({.name = "constant", .warmup_steps = 4}, 0.5, 4, 10, 5), 0.5);
}

TEST(Schedule, AWarmUpLongerThanTheTrainingIsAllThereIs) {
  const ScheduleOptions options{.warmup_epochs = 5};
  EXPECT_DOUBLE_EQ(learning_rate(options, 1.0, 19, 20, 10), 19.0 / 50);
}

TEST(Schedule, OneCycleOfFewStepsIsFinite) {
  for (std::int64_t total = 1; total < 12; ++total) {
    for (std::int64_t step = 0; step < total; ++step) {
      const double rate = learning_rate({.name = "one_cycle"}, 1.0, step, total, 1);
      EXPECT_TRUE(rate > 0 && rate <= 1) << step << " of " << total << ": " << rate;
    }
    EXPECT_DOUBLE_EQ(learning_rate({.name = "one_cycle"}, 1.0, total - 1, total, 1), 1.0 / 25 / 1e4);
  }
}

TEST(Schedule, OnlyOneCycleMovesTheMomentum) {
  EXPECT_FALSE(train::scheduled_momentum({}, 0, 10));
  EXPECT_FALSE(train::scheduled_momentum({.name = "one_cycle", .cycle_momentum = false}, 0, 10));
  EXPECT_EQ(train::scheduled_momentum({.name = "one_cycle"}, 0, 10), 0.95);
}

TEST(Schedule, MistakesAreNamed) {
  EXPECT_THROW(learning_rate({.name = "step"}, 1.0, 0, 10, 1), std::invalid_argument);
  EXPECT_THROW(learning_rate({.every = "batch"}, 1.0, 0, 10, 1), std::invalid_argument);
}

}  // namespace
}  // namespace quest::testing
