#include "app/dry_run.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <vector>

#include "app/peak_memory.h"

namespace quest::app {
namespace {

TEST(PeakBytes, IsTheMostHeldAtOnce) {
  const auto floats = [](std::int64_t count) { return at::empty({count}, at::kFloat); };
  const auto held_before = floats(1 << 20);
  EXPECT_EQ(app::peak_bytes([&] {
              const auto kept = floats(1000);
              {
                const auto dropped = floats(500);
              }
              const auto later = floats(200);
            }),
            1500.0 * sizeof(float));
  EXPECT_EQ(app::peak_bytes([] {}), 0.0);
}

// Two linear layers around a ReLU, with a batch of ones.
class FakeTask final : public train::Task {
 public:
  FakeTask() : model_(torch::nn::Linear(kIn, kHidden), torch::nn::ReLU(), torch::nn::Linear(kHidden, 1)) {}

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return 1001; }
  [[nodiscard]] double forward_flops() const override { return 2.0 * (kIn * kHidden + kHidden); }
  [[nodiscard]] train::Selection selection() const override { return {.metric = "loss"}; }
  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    const auto samples = static_cast<std::int64_t>(draw.samples.size());
    return {samples, {{"inputs", torch::ones({samples, kIn})}}};
  }
  [[nodiscard]] train::Losses loss(const data::Batch& batch, const train::Moment& /*moment*/) override {
    passes_.push_back(batch.samples());
    return {.total = model_->forward(batch["inputs"]).mean()};
  }
  void evaluate(const train::Split& /*split*/, metrics::Metrics& /*metrics*/) override {}
  [[nodiscard]] train::NamedTensors state() override { return own_state_; }

  static constexpr std::int64_t kIn = 64;
  static constexpr std::int64_t kHidden = 4096;
  static constexpr std::int64_t kParameters = kIn * kHidden + kHidden + kHidden + 1;
  std::vector<std::int64_t> passes_;
  train::NamedTensors own_state_;

 private:
  torch::nn::Sequential model_;
};

train::Recipe recipe_with_batch(std::int64_t batch) {
  train::Recipe recipe;
  recipe.task = "fake";
  recipe.train.batch_size = batch;
  recipe.train.accumulate = 2;
  recipe.train.epochs = 3;
  return recipe;
}

// The first of so many; it talks to nobody.
class FirstOf final : public train::Communicator {
 public:
  explicit FirstOf(int size) : Communicator(0, size) {}

  std::unique_ptr<Pending> start_all_reduce_sum(const at::Tensor& /*tensor*/) override { return nullptr; }
  void broadcast(const at::Tensor& /*tensor*/, int /*root*/) override {}
  void reduce_scatter_sum(const at::Tensor& /*parts*/) override {}
  void all_gather(const at::Tensor& /*parts*/) override {}
  void barrier() override {}
};

TEST(DryRun, CountsModelStepsAndState) {
  FakeTask task;
  auto recipe = recipe_with_batch(100);
  recipe.train.ema = 0.999;
  const auto plan = app::plan_of(task, recipe, "my", FirstOf(2));
  EXPECT_EQ(plan.task, "fake");
  EXPECT_EQ(plan.recipe, "my");
  EXPECT_EQ(plan.parameters(), FakeTask::kParameters);
  EXPECT_EQ(plan.parts.size(), 2U) << "the ReLU has no parameters";
  EXPECT_EQ(plan.step_samples, 400);
  EXPECT_EQ(plan.steps_per_epoch, 3) << "1001 samples, the last step takes what is left";
  EXPECT_EQ(plan.steps, 9);
  EXPECT_EQ(plan.memory.optimizer, 2.0 * plan.memory.weights) << "adamw keeps two numbers for each parameter";
  EXPECT_EQ(plan.memory.average, plan.memory.weights);
  EXPECT_DOUBLE_EQ(plan.learning_rate(0), recipe.optimizer.lr);
}

TEST(DryRun, ProcessesDivideTheStateOfTheOptimiserOnRequest) {
  FakeTask task;
  auto recipe = recipe_with_batch(100);
  recipe.train.shard = "optimizer";
  const auto plan = app::plan_of(task, recipe, "my", FirstOf(4));
  EXPECT_EQ(plan.memory.optimizer, plan.memory.weights / 2);
}

TEST(DryRun, TheRateGrowsWithTheSamplesOfAStepOnRequest) {
  FakeTask task;
  auto recipe = recipe_with_batch(100);
  recipe.optimizer.lr_batch = 50;
  EXPECT_DOUBLE_EQ(app::plan_of(task, recipe, "my", FirstOf(2)).learning_rate(0), 400.0 / 50 * recipe.optimizer.lr);
}

TEST(DryRun, ALengthInStepsIsTakenAsItIs) {
  FakeTask task;
  auto recipe = recipe_with_batch(100);
  recipe.train.steps = 7;
  const auto plan = app::plan_of(task, recipe, "my", FirstOf(1));
  EXPECT_EQ(plan.steps, 7);
  EXPECT_EQ(plan.steps_per_epoch, 6);
  EXPECT_DOUBLE_EQ(plan.epochs(), 7.0 / 6.0);
}

TEST(DryRun, MemoryOfALargeBatchIsEstimatedFromSmallerOnes) {
  constexpr std::int64_t kBatch = 512;
  FakeTask task;
  const auto plan = app::plan_of(task, recipe_with_batch(kBatch), "my", FirstOf(1));
  for (const auto samples : task.passes_) EXPECT_LE(samples, kBatch / 4);
  const auto batch = task.load({.samples = std::vector<std::int64_t>(kBatch)});
  const double measured = app::peak_bytes([&] { task.loss(batch, {}).total.backward(); });
  EXPECT_NEAR(plan.memory.activations / measured, 1.0, 0.05);
}

TEST(DryRun, CheckpointsNeedRoomForTheOneBeingWritten) {
  FakeTask task;
  const auto weights = static_cast<std::uintmax_t>(FakeTask::kParameters) * sizeof(float);
  const auto bytes = app::checkpoint_bytes(task, recipe_with_batch(1));
  EXPECT_GE(bytes, (2 + 2 * 3) * weights);
  EXPECT_LE(bytes, (2 + 2 * 3) * weights + (32U << 20U));
}

constexpr std::int64_t kFrozen = FakeTask::kIn * FakeTask::kHidden;  // the first parameter

TEST(DryRun, OnlyTrainedParametersHaveGradientsAndAPlaceInTheOptimiser) {
  FakeTask task;
  task.model().parameters().front().requires_grad_(false);
  auto recipe = recipe_with_batch(8);
  recipe.train.ema = 0.999;
  const auto plan = app::plan_of(task, recipe, "my", FirstOf(1));
  const double trained = (FakeTask::kParameters - kFrozen) * sizeof(float);
  EXPECT_EQ(plan.parameters(), FakeTask::kParameters);
  EXPECT_EQ(plan.memory.weights, FakeTask::kParameters * sizeof(float));
  EXPECT_EQ(plan.memory.gradients, trained);
  EXPECT_EQ(plan.memory.optimizer, 2.0 * trained);
  EXPECT_EQ(plan.memory.average, trained);
}

TEST(DryRun, CheckpointsHoldBuffersAndTheTasksStateButNothingOfTheOptimiserForFrozenParameters) {
  constexpr std::int64_t kBuffer = 1000;
  constexpr std::int64_t kState = 300;
  FakeTask task;
  auto recipe = recipe_with_batch(1);
  recipe.train.ema = 0.999;
  const auto plain = app::checkpoint_bytes(task, recipe);
  task.model().register_buffer("seen", torch::zeros({kBuffer}));
  const auto with_buffer = app::checkpoint_bytes(task, recipe);
  EXPECT_EQ(with_buffer - plain, 4 * kBuffer * sizeof(float)) << "best, last, resume and the one being written";
  task.own_state_ = {{"teacher", torch::zeros({kState})}};
  const auto with_state = app::checkpoint_bytes(task, recipe);
  EXPECT_EQ(with_state - with_buffer, 2 * kState * sizeof(float)) << "resume and the one being written";
  task.model().parameters().front().requires_grad_(false);
  EXPECT_EQ(with_state - app::checkpoint_bytes(task, recipe), 2 * 3 * kFrozen * sizeof(float));
}

}  // namespace
}  // namespace quest::app
