#include "domains/toy/engine/task_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace quest::toy::engine {
namespace {

constexpr TaskSizes kMany{.tokens = 20, .training_samples = 20'000, .test_samples = 5'000};

const float* real_part(const TaskData& data, int sample, int token) {
  return data.real.data() + (static_cast<std::size_t>(sample) * data.tokens + token) * kRealDims;
}

TEST(TaskData, TheMostFrequentPositionHoldsAFifthOfTheSamples) {
  const auto data = draw_realization(kMany, 1, 0).training;
  std::vector<int> counts(data.tokens);
  for (const int position : data.answer) ++counts.at(position);
  EXPECT_NEAR(static_cast<double>(std::ranges::max(counts)) / data.samples, 0.195, 0.015);
}

TEST(TaskData, PositionsStayInsideAShortSequence) {
  const auto data = draw_realization({.tokens = 9, .training_samples = 500, .test_samples = 1}, 1, 0).training;
  EXPECT_GE(std::ranges::min(data.answer), 0);
  EXPECT_EQ(std::ranges::max(data.answer), 8);
}

TEST(TaskData, HalfOfTheTrainingSamplesAndNoTestSampleIsBiased) {
  const auto drawn = draw_realization(kMany, 1, 0);
  const auto biased = std::ranges::count(drawn.training.biased, 1);
  EXPECT_NEAR(static_cast<double>(biased) / drawn.training.samples, 0.5, 0.015);
  EXPECT_EQ(std::ranges::count(drawn.test.biased, 1), 0);
}

TEST(TaskData, BiasedAnswersLieCloseToOneVector) {
  const auto data = draw_realization(kMany, 1, 0).training;
  double sum = 0.0;
  double squares = 0.0;
  int count = 0;
  for (int s = 0; s < data.samples; ++s) {
    if (data.biased[s] == 0) continue;
    const double x = real_part(data, s, data.answer[s])[0];
    sum += x;
    squares += x * x;
    ++count;
  }
  const double mean = sum / count;
  EXPECT_NEAR(squares / count - mean * mean, 0.1, 0.01);
}

TEST(TaskData, OtherTokensAreStandardNormalAndClassesUniform) {
  const auto data = draw_realization(kMany, 1, 0).training;
  double squares = 0.0;
  int count = 0;
  std::vector<int> classes(kClasses);
  for (int s = 0; s < data.samples; ++s) {
    ++classes.at(data.label(s));
    const int token = (data.answer[s] + 1) % data.tokens;
    for (int i = 0; i < kRealDims; ++i, ++count) squares += std::pow(real_part(data, s, token)[i], 2);
  }
  EXPECT_NEAR(squares / count, 1.0, 0.02);
  for (const int of_class : classes) EXPECT_NEAR(static_cast<double>(of_class) / data.samples, 0.1, 0.01);
}

TEST(TaskData, SeedAndRealizationNameTheData) {
  const TaskSizes few{.tokens = 5, .training_samples = 10, .test_samples = 10};
  EXPECT_EQ(draw_realization(few, 3, 1).training.real, draw_realization(few, 3, 1).training.real);
  EXPECT_NE(draw_realization(few, 3, 1).training.real, draw_realization(few, 3, 2).training.real);
  EXPECT_NE(draw_realization(few, 3, 1).training.real, draw_realization(few, 4, 1).training.real);
  EXPECT_NE(draw_realization(few, 3, 1).training.real, draw_realization(few, 3, 1).test.real);
}

TEST(BatchOrder, VisitsEverySampleOnceAndDiffersBetweenEpochs) {
  auto order = batch_order(101, 1, 0, 0);
  EXPECT_NE(order, batch_order(101, 1, 0, 1));
  EXPECT_EQ(order, batch_order(101, 1, 0, 0));
  std::vector<int> all(101);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_TRUE(std::ranges::is_permutation(order, all));
}

}  // namespace
}  // namespace quest::toy::engine
