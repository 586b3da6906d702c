#include "domains/toy/engine/cpu/train.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "domains/toy/engine/cpu/lane_models.h"
#include "tests/kernels/instruction_sets.h"

namespace quest::toy::engine::cpu {
namespace {

using toy::engine::EpochRecord;
using toy::engine::SweepJob;
using toy::engine::SweepRecipe;
using toy::engine::SweepResult;

// 13 samples in batches of 5: neither batches nor chunks of a batch come out even.
constexpr toy::engine::TaskSizes kSizes{.tokens = 6, .training_samples = 13, .test_samples = 7};

SweepRecipe recipe_of(int epochs) {
  return {.model = {.normalize_k = true, .tokens = kSizes.tokens}, .seed = 1, .epochs = epochs, .batch = 5};
}

std::vector<SweepResult> train(const SweepRecipe& recipe, std::span<const SweepJob> jobs) {
  const auto data = toy::engine::draw_realization(kSizes, recipe.seed, recipe.realization);
  return train_together(recipe, data, jobs, [] { return false; }).value();
}

bool same_bits(const SweepResult& a, const SweepResult& b) {
  return a.epochs.size() == b.epochs.size() &&
         std::memcmp(a.epochs.data(), b.epochs.data(), a.epochs.size() * sizeof(EpochRecord)) == 0 &&
         a.train_accuracy == b.train_accuracy && a.test_accuracy == b.test_accuracy;
}

TEST(SweepTraining, AModelDoesNotDependOnItsNeighbours) {
  testing::for_each_instruction_set([] {
    const SweepJob wanted{.learning_rate = 3e-3, .weight_decay = 0.1, .initialization = 7};
    std::vector<SweepJob> crowd(model_lanes());
    for (std::size_t i = 0; i < crowd.size(); ++i) crowd[i] = {.learning_rate = 1e-2, .initialization = i};
    crowd.back() = wanted;
    EXPECT_TRUE(same_bits(train(recipe_of(3), {{wanted}}).front(), train(recipe_of(3), crowd).back()));
  });
}

TEST(SweepTraining, ADivergedModelLeavesItsNeighboursAlone) {
  const SweepJob calm{.learning_rate = 1e-3};
  const SweepJob wild{.learning_rate = 1e30};
  const auto both = train(recipe_of(3), {{wild, calm}});
  EXPECT_FALSE(std::isfinite(both[0].epochs.back().loss));
  EXPECT_TRUE(same_bits(both[1], train(recipe_of(3), {{calm}}).front()));
}

TEST(SweepTraining, LearnsTheTrainingSamplesByHeart) {
  testing::for_each_instruction_set([] {
    const auto result = train(recipe_of(150), {{SweepJob{.learning_rate = 1e-2}}}).front();
    EXPECT_GT(result.epochs.front().loss, 2.0F);
    EXPECT_LT(result.epochs.back().loss, 0.1F);
    EXPECT_EQ(result.train_accuracy, 1.0F);
  });
}

TEST(SweepTraining, RecordsAreOfTheRightSize) {
  const auto first = train(recipe_of(1), {{SweepJob{}}}).front().epochs.front();
  EXPECT_LT(first.entropy, std::log(kSizes.tokens + 1.0F));
  EXPECT_GT(first.entropy, 1.0F);
  for (const float norm : {first.biased_key_norm, first.unbiased_key_norm, first.other_key_norm, first.query_norm}) {
    EXPECT_GT(norm, 0.1F);
    EXPECT_LT(norm, 10.0F);
  }
}

TEST(SweepTraining, StopsBetweenEpochs) {
  const auto data = toy::engine::draw_realization(kSizes, 1, 0);
  int asked = 0;
  const auto result = train_together(recipe_of(50), data, {{SweepJob{}}}, [&asked] { return ++asked == 3; });
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace quest::toy::engine::cpu
