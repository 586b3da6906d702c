// The sweep engine on a GPU, held to the CPU engine.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "domains/toy/engine/cpu/train.h"
#include "domains/toy/engine/cuda/train.h"
#include "tests/domains/toy/engine/models.h"

namespace quest::testing {
namespace {

namespace engine = toy::engine;
namespace cuda = toy::engine::cuda;

// 75 samples in batches of 20: neither batches nor chunks of a batch come out even.
constexpr toy::engine::TaskSizes kSizes{.tokens = 20, .training_samples = 75, .test_samples = 33};
constexpr int kEpochs = 3;

class SweepOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto obstacle = cuda::sweep_obstacle(kSizes.tokens); !obstacle.empty()) GTEST_SKIP() << obstacle;
  }

  // Every kind of model on two data sets.
  [[nodiscard]] std::vector<cuda::SweepTraining> trainings() const {
    std::vector<cuda::SweepTraining> all;
    for (const auto& [name, model] : models_of_every_kind(kSizes.tokens)) {
      for (std::uint64_t realization = 0; realization < data_.size(); ++realization) {
        all.push_back({{model, 1, realization, kEpochs, 20},
                       &data_[realization],
                       {.learning_rate = 2e-3, .weight_decay = 0.1, .initialization = all.size()}});
      }
    }
    return all;
  }

  static std::vector<toy::engine::SweepResult> train(const std::vector<cuda::SweepTraining>& trainings) {
    return cuda::train_together(trainings, [] { return false; }).value();
  }

  static bool same_bits(const toy::engine::SweepResult& a, const toy::engine::SweepResult& b) {
    return a.epochs.size() == b.epochs.size() &&
           std::memcmp(a.epochs.data(), b.epochs.data(), a.epochs.size() * sizeof(toy::engine::EpochRecord)) == 0 &&
           a.train_accuracy == b.train_accuracy && a.test_accuracy == b.test_accuracy;
  }

  std::vector<toy::engine::Realization> data_ = {toy::engine::draw_realization(kSizes, 1, 0),
                                                 toy::engine::draw_realization(kSizes, 1, 1)};
};

TEST_F(SweepOnGpu, RecordsWhatTheCpuRecords) {
  const auto all = trainings();
  const auto results = train(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto expected =
        toy::engine::cpu::train_together(all[i].recipe, *all[i].data, {{all[i].job}}, [] { return false; })
            .value()
            .front();
    ASSERT_EQ(results[i].epochs.size(), expected.epochs.size());
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const auto& ours = results[i].epochs[epoch];
      const auto& theirs = expected.epochs[epoch];
      EXPECT_NEAR(ours.loss, theirs.loss, 1e-4 * theirs.loss) << "model " << i << ", epoch " << epoch;
      EXPECT_NEAR(ours.biased_key_norm, theirs.biased_key_norm, 1e-3 * theirs.biased_key_norm);
      EXPECT_NEAR(ours.unbiased_key_norm, theirs.unbiased_key_norm, 1e-3 * theirs.unbiased_key_norm);
      EXPECT_NEAR(ours.other_key_norm, theirs.other_key_norm, 1e-3 * theirs.other_key_norm);
      EXPECT_NEAR(ours.query_norm, theirs.query_norm, 1e-3 * theirs.query_norm);
      EXPECT_NEAR(ours.entropy, theirs.entropy, 1e-3 * theirs.entropy);
    }
    // A sample on the border may fall to either side.
    EXPECT_NEAR(results[i].train_accuracy, expected.train_accuracy, 1.01 / kSizes.training_samples);
    EXPECT_NEAR(results[i].test_accuracy, expected.test_accuracy, 1.01 / kSizes.test_samples);
  }
}

TEST_F(SweepOnGpu, GivesTheSameBitsAgainAndInOtherCompany) {
  const auto all = trainings();
  const auto results = train(all);
  const auto again = train(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(same_bits(results[i], again[i])) << i;
    EXPECT_TRUE(same_bits(results[i], train({all[i]}).front())) << i;
  }
}

TEST_F(SweepOnGpu, ADivergedModelLeavesOthersAlone) {
  auto all = trainings();
  const auto before = train(all);
  all.front().job.learning_rate = 1e30;
  const auto results = train(all);
  EXPECT_FALSE(std::isfinite(results.front().epochs.back().loss));
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_TRUE(same_bits(results[i], before[i])) << i;
}

TEST_F(SweepOnGpu, StopsBetweenEpochs) {
  int asked = 0;
  EXPECT_FALSE(cuda::train_together(trainings(), [&asked] { return ++asked == 2; }).has_value());
  EXPECT_EQ(asked, 2);
}

TEST(SweepObstacle, NamesTokensThatDoNotFit) {
  EXPECT_FALSE(cuda::sweep_obstacle(std::numeric_limits<int>::max()).empty());
}

}  // namespace
}  // namespace quest::testing
