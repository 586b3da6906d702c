#include "train/engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace quest::train {
namespace {

std::vector<std::int64_t> step_samples(Sampler& sampler, std::int64_t step, std::int64_t processes) {
  std::vector<std::int64_t> all;
  for (std::int64_t rank = 0; rank < processes; ++rank) {
    for (const auto& pass : sampler.passes(step, rank)) {
      all.insert(all.end(), pass.batch.samples.begin(), pass.batch.samples.end());
    }
  }
  return all;
}

TEST(Sampler, TakesEverySampleOnceAnEpoch) {
  for (const std::int64_t samples : {7, 32, 61}) {
    Sampler sampler({.samples = samples, .batch = 4, .accumulate = 2}, 1);
    std::vector<std::int64_t> taken;
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      const auto of_step = step_samples(sampler, step, 1);
      taken.insert(taken.end(), of_step.begin(), of_step.end());
    }
    std::ranges::sort(taken);
    std::vector<std::int64_t> every(static_cast<std::size_t>(samples));
    std::iota(every.begin(), every.end(), 0);
    EXPECT_EQ(taken, every) << samples;
  }
}

TEST(Sampler, SeveralProcessesTakeWhatOneWithTheLargerBatchTakes) {
  Sampler one({.samples = 61, .batch = 16}, 5);
  for (const auto& [batch, accumulate, processes] :
       std::vector<std::array<std::int64_t, 3>>{{4, 1, 4}, {8, 1, 2}, {4, 2, 2}, {4, 4, 1}}) {
    Sampler several({.samples = 61, .batch = batch, .accumulate = accumulate, .processes = processes}, 5);
    ASSERT_EQ(several.steps_per_epoch(), one.steps_per_epoch());
    for (std::int64_t step = 0; step < 3 * one.steps_per_epoch(); ++step) {
      EXPECT_EQ(step_samples(several, step, processes), step_samples(one, step, 1)) << step;
    }
  }
}

TEST(Sampler, WeightsOfAStepSumToOne) {
  Sampler sampler({.samples = 61, .batch = 4, .accumulate = 2, .processes = 2}, 5);
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    double sum = 0;
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      for (const auto& pass : sampler.passes(step, rank)) sum += pass.weight;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12) << step;
  }
}

TEST(Sampler, DependsOnSeedAndEpochAlone) {
  Sampler a({.samples = 40, .batch = 8}, 1);
  Sampler b({.samples = 40, .batch = 8}, 1);
  Sampler other_seed({.samples = 40, .batch = 8}, 2);
  (void)a.passes(0, 0);
  EXPECT_EQ(step_samples(a, 13, 1), step_samples(b, 13, 1));
  EXPECT_NE(step_samples(a, 0, 1), step_samples(a, 5, 1));
  EXPECT_NE(step_samples(a, 0, 1), step_samples(other_seed, 0, 1));
}

TEST(Sampler, LeavesARestThatWouldNotGiveEveryProcessASample) {
  Sampler sampler({.samples = 33, .batch = 8, .processes = 2}, 1);
  EXPECT_EQ(sampler.steps_per_epoch(), 2);
}

TEST(Sampler, RefusesMoreProcessesThanSamples) {
  EXPECT_THROW(Sampler({.samples = 3, .batch = 1, .processes = 4}, 1), std::invalid_argument);
}

}  // namespace
}  // namespace quest::train
