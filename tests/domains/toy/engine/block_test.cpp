// What a GPU's block computes, held to the CPU engine; tests/experiments holds that one to autograd in float64.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "domains/toy/engine/cpu/lane_models.h"
#include "domains/toy/engine/parameters.h"
#include "tests/domains/toy/engine/block_on_host.h"
#include "tests/domains/toy/engine/models.h"

namespace quest::testing {
namespace {

namespace engine = toy::engine;
namespace cpu = toy::engine::cpu;

std::vector<NamedModel> block_cases() {
  std::vector<NamedModel> cases;
  const auto add = [&](int tokens, std::size_t count) {
    for (NamedModel one : models_of_every_kind(tokens)) {
      if (count-- == 0) break;
      one.name += "_" + std::to_string(tokens);
      cases.push_back(one);
    }
  };
  for (const int tokens : {1, 7, 20, 33}) add(tokens, models_of_every_kind(tokens).size());
  add(toy::engine::cuda::kMostTokens, 2);
  return cases;
}

constexpr float kLearningRate = 1e-3F;
constexpr float kWeightDecay = 0.1F;

// Away from the values where parameters start, so that none of them is neutral.
std::vector<float> some_parameters(int tokens) {
  auto parameters = toy::engine::initial_parameters(tokens, 1, 0);
  base::Random random(2, {0});
  for (float& value : parameters) value += static_cast<float>(0.1 * random.normal());
  return parameters;
}

std::vector<float> lane_of(const cpu::LaneFloats& values, const cpu::LaneModels& models) {
  std::vector<float> lane;
  for (int i = 0; i < models.layout.count; ++i) lane.push_back(values[static_cast<std::size_t>(i) * models.lanes]);
  return lane;
}

double largest(std::span<const float> values) {
  double most = 0.0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

double worst(std::span<const float> a, std::span<const float> b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  return most;
}

class SweepBlock : public ::testing::TestWithParam<NamedModel> {
 protected:
  const toy::engine::Model& model_ = GetParam().model;
  toy::engine::TaskData data_ =
      toy::engine::draw_realization({.tokens = model_.tokens, .training_samples = 29, .test_samples = 1}, 5, 0)
          .training;
  // 19 samples: chunks do not come out even.
  std::vector<int> batch_ = {7, 3, 28, 1, 0, 19, 12, 5, 22, 27, 8, 15, 2, 11, 9, 26, 17, 4, 13};
  ModelOnHost block_{model_, some_parameters(model_.tokens), ThreadOrder::ascending};
  cpu::LaneModels lanes_{model_, cpu::model_lanes()};

  SweepBlock() { lanes_.set_lane(0, some_parameters(model_.tokens), kLearningRate, kWeightDecay); }
};

TEST_P(SweepBlock, HasTheGradientOfTheCpu) {
  block_.batch_gradient(data_, batch_);
  const auto expected_totals = cpu::batch_gradient(lanes_, data_, batch_);
  const auto expected = lane_of(lanes_.gradient, lanes_);
  EXPECT_LT(worst(block_.gradient(), expected), 1e-5 * largest(expected));
  const auto totals = block_.totals();
  EXPECT_NEAR(totals.loss, expected_totals.loss[0], 1e-5 * totals.loss);
  EXPECT_EQ(totals.correct, expected_totals.correct[0]);
}

TEST_P(SweepBlock, LeadsTheLossWhereTheCpuLeadsIt) {
  for (int step = 0; step < 25; ++step) {
    block_.batch_gradient(data_, batch_);
    block_.adamw_step(kLearningRate, kWeightDecay);
    const auto expected = cpu::batch_gradient(lanes_, data_, batch_);
    cpu::adamw_step(lanes_);
    ASSERT_NEAR(block_.totals().loss, expected.loss[0], 1e-4 * expected.loss[0]) << "step " << step;
  }
}

TEST_P(SweepBlock, SeesWhatTheCpuSees) {
  block_.evaluate(data_);
  const auto evaluated = block_.totals();
  const auto expected = cpu::evaluate(lanes_, data_);
  EXPECT_NEAR(evaluated.loss, expected.loss[0], 1e-5 * expected.loss[0]);
  EXPECT_EQ(evaluated.correct, expected.correct[0]);

  block_.probe(data_, data_.samples);
  const auto probed = block_.totals();
  const auto seen = cpu::probe(lanes_, data_, data_.samples);
  const auto biased = static_cast<float>(std::ranges::count(data_.biased, 1));
  const auto samples = static_cast<float>(data_.samples);
  const float others = samples * static_cast<float>(model_.tokens - 1);
  const auto& norms = probed.key_norm;
  EXPECT_NEAR(norms[toy::engine::cuda::kBiasedAnswer] / biased, seen.biased_key_norm[0], 1e-5);
  EXPECT_NEAR(norms[toy::engine::cuda::kUnbiasedAnswer] / (samples - biased), seen.unbiased_key_norm[0], 1e-5);
  EXPECT_NEAR(norms[toy::engine::cuda::kOther] / std::max(others, 1.0F), seen.other_key_norm[0], 1e-5);
  EXPECT_NEAR(probed.entropy / samples, seen.entropy[0], 1e-5);
  EXPECT_NEAR(block_.query_norm(), seen.query_norm[0], 1e-5);
}

// A thread that reads what another writes in the same phase would.
TEST_P(SweepBlock, DoesNotDependOnTheOrderOfItsThreads) {
  ModelOnHost backwards(model_, some_parameters(model_.tokens), ThreadOrder::descending);
  for (ModelOnHost* model : {&block_, &backwards}) {
    for (int step = 0; step < 2; ++step) {
      model->batch_gradient(data_, batch_);
      model->adamw_step(kLearningRate, kWeightDecay);
    }
    model->evaluate(data_);
    model->probe(data_, data_.samples);
  }
  EXPECT_EQ(worst(block_.weights(), backwards.weights()), 0.0);
  const auto totals = block_.totals();
  const auto others = backwards.totals();
  EXPECT_EQ(totals.loss, others.loss);
  EXPECT_EQ(totals.entropy, others.entropy);
}

INSTANTIATE_TEST_SUITE_P(Models, SweepBlock, ::testing::ValuesIn(block_cases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace quest::testing
