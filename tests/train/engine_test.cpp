#include "train/engine/engine.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/formats/safetensors.h"
#include "tests/testing/temporary_folder.h"
#include "tests/train/quiet_listener.h"
#include "tests/train/tiny_task.h"

namespace quest::train {
namespace {

using testing::QuietListener;
using testing::TemporaryFolder;
using testing::TinyTask;

Recipe tiny_recipe() {
  Recipe recipe{.task = "tiny", .seed = 5};
  recipe.train = {.epochs = 4, .batch_size = 16, .checkpoint_every = 3, .log_every = 1, .monitor_every = 2};
  recipe.optimizer.lr = 1e-2;
  recipe.optimizer.weight_decay = 0.05;
  return recipe;
}

struct TinyRun {
  TemporaryFolder folder;
  QuietListener listener;
  Ending ending;
};

// Stops after so many steps where asked to.
void train_in(TinyRun& run, TinyTask& task, const Recipe& recipe,
              std::int64_t steps = std::numeric_limits<std::int64_t>::max()) {
  RunFolder folder(run.folder.path());
  const auto processes = communicator_from_environment(at::kCPU);
  std::int64_t taken = 0;
  run.ending = train(task, recipe, {*processes, run.listener, &folder, [&] { return ++taken >= steps; }});
}

data::TensorFile weights(const TinyRun& run, const char* name = kLastWeights) {
  return data::load_safetensors(run.folder.path() / name);
}

void expect_same_bits(const data::TensorFile& a, const data::TensorFile& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].first, b.tensors[i].first);
    EXPECT_TRUE(at::equal(a.tensors[i].second, b.tensors[i].second)) << a.tensors[i].first;
  }
}

double largest_difference(const data::TensorFile& a, const data::TensorFile& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    largest = std::max(largest, (a.tensors[i].second - b.tensors[i].second).abs().max().item<double>());
  }
  return largest;
}

nlohmann::json json_of(const TinyRun& run, const char* name) {
  return nlohmann::json::parse(testing::text_of(run.folder.path() / name));
}

TEST(Engine, TrainsAndLeavesARunFolder) {
  TinyRun run;
  TinyTask task;
  train_in(run, task, tiny_recipe());
  EXPECT_EQ(run.ending.status, "finished");
  EXPECT_EQ(run.ending.steps, 16);
  EXPECT_EQ(run.listener.status, "finished");
  ASSERT_EQ(run.listener.evaluations.size(), 4);
  EXPECT_LT(run.listener.evaluations.back().at("loss"), run.listener.evaluations.front().at("loss"));
  EXPECT_EQ(run.listener.steps.size(), 16);
  EXPECT_EQ(json_of(run, kRunFile)["status"], "finished");
  EXPECT_FALSE(testing::text_of(run.folder.path() / kStatsFile).empty());
  EXPECT_TRUE(std::filesystem::exists(run.folder.path() / kBestWeights));
}

TEST(Engine, AResumedRunEndsWithTheBitsOfAnUninterruptedOne) {
  auto recipe = tiny_recipe();
  recipe.train.ema = 0.9;
  TinyRun whole;
  TinyTask task(0.2);
  train_in(whole, task, recipe);
  for (const std::int64_t steps : {1, 2, 4, 5, 9, 15}) {
    TinyRun parts;
    TinyTask first(0.2);
    train_in(parts, first, recipe, steps);
    ASSERT_EQ(parts.ending.status, "interrupted");
    ASSERT_EQ(parts.ending.steps, steps);
    TinyTask second(0.2);
    train_in(parts, second, recipe);
    ASSERT_EQ(parts.ending.status, "finished");
    expect_same_bits(weights(whole), weights(parts));
    expect_same_bits(weights(whole, kBestWeights), weights(parts, kBestWeights));
    expect_same_bits(weights(whole, kResumeCheckpoint), weights(parts, kResumeCheckpoint));
  }
}

TEST(Engine, SavesNoOftenerThanAsked) {
  auto recipe = tiny_recipe();
  recipe.train.checkpoint_every = 0;
  recipe.train.checkpoint_seconds = 1000;
  TinyRun whole;
  TinyTask task(0.2);
  task.on_evaluation = [&] { EXPECT_FALSE(std::filesystem::exists(whole.folder.path() / kResumeCheckpoint)); };
  train_in(whole, task, recipe);
  EXPECT_EQ(whole.listener.evaluations.size(), 4);
  TinyRun parts;
  TinyTask first(0.2);
  train_in(parts, first, recipe, 6);
  TinyTask second(0.2);
  train_in(parts, second, recipe);
  EXPECT_EQ(parts.ending.status, "finished");
  expect_same_bits(weights(whole, kResumeCheckpoint), weights(parts, kResumeCheckpoint));
}

TEST(Engine, AccumulatedPassesAreOneLargerBatch) {
  TinyRun large;
  TinyTask task;
  train_in(large, task, tiny_recipe());
  auto recipe = tiny_recipe();
  recipe.train.batch_size = 4;
  recipe.train.accumulate = 4;
  TinyRun accumulated;
  TinyTask same;
  train_in(accumulated, same, recipe);
  EXPECT_EQ(accumulated.ending.steps, large.ending.steps);
  EXPECT_LT(largest_difference(weights(large), weights(accumulated)), 1e-6);
}

TEST(Engine, ADivergedRunIsAResult) {
  TinyRun run;
  int passes = 0;
  TinyTask task(0.0, [&](const at::Tensor& loss) { return ++passes == 8 ? loss * NAN : loss; });
  train_in(run, task, tiny_recipe());
  EXPECT_EQ(run.ending.status, "crashed at iteration 8");
  EXPECT_EQ(json_of(run, kRunFile)["status"], "crashed at iteration 8");
  const auto crash = json_of(run, kCrashFile);
  EXPECT_EQ(crash["iteration"], 8);
  EXPECT_EQ(crash["steps"].size(), 8);
  EXPECT_FALSE(crash["stats"].empty());
  for (const auto& [name, tensor] : weights(run, kResumeCheckpoint).tensors) {
    EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << name;
  }
  TinyTask again;
  train_in(run, again, tiny_recipe());
  EXPECT_EQ(run.ending.status, "finished");
}

TEST(Engine, GradientsThatAreNotFiniteEndTheRunToo) {
  TinyRun run;
  int passes = 0;
  TinyTask task(0.0, [&](const at::Tensor& loss) {
    // Finite, with an infinite derivative.
    return ++passes == 3 ? loss + (loss - loss).sqrt() : loss;
  });
  train_in(run, task, tiny_recipe());
  EXPECT_EQ(run.ending.status, "crashed at iteration 3");
}

TEST(Engine, StopsEarlyWhenPatienceEnds) {
  auto recipe = tiny_recipe();
  recipe.train.epochs = 50;
  recipe.train.patience = 3;
  recipe.optimizer.lr = 0.0;  // nothing improves after the first evaluation
  TinyRun run;
  TinyTask task;
  train_in(run, task, recipe);
  EXPECT_EQ(run.ending.status, "stopped early");
  EXPECT_EQ(run.listener.evaluations.size(), 4);
  EXPECT_EQ(run.listener.best, (std::vector<bool>{true, false, false, false}));
  train_in(run, task, recipe);
  EXPECT_EQ(run.ending.status, "stopped early");
  EXPECT_EQ(run.listener.evaluations.size(), 4) << "a run out of patience does not go on";
}

TEST(Engine, AnEqualValueIsANewBestWhereTiesWin) {
  auto recipe = tiny_recipe();
  recipe.train.patience = 1;
  recipe.optimizer.lr = 0.0;
  TinyRun run;
  TinyTask task;
  task.ties_win = true;
  train_in(run, task, recipe);
  EXPECT_EQ(run.ending.status, "finished");
  EXPECT_EQ(run.listener.best, (std::vector<bool>(4, true)));
}

TEST(Engine, BfloatPrecisionReachesTheModel) {
  auto recipe = tiny_recipe();
  recipe.train.precision = "bfloat16";
  TinyRun run;
  bool seen = false;
  TinyTask task(0.0, [&](const at::Tensor& loss) {
    seen = at::autocast::is_autocast_enabled(at::kCPU);
    return loss;
  });
  train_in(run, task, recipe);
  EXPECT_TRUE(seen);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  EXPECT_EQ(weights(run).tensors.front().second.scalar_type(), at::kFloat);
}

TEST(Engine, ACheckpointOfAnotherModelIsRefused) {
  TinyRun run;
  TinyTask task;
  train_in(run, task, tiny_recipe(), 3);
  auto file = weights(run, kResumeCheckpoint);
  for (auto& [name, tensor] : file.tensors) {
    if (name == "model.head.weight") tensor = torch::zeros({3, 9});
  }
  data::save_safetensors(run.folder.path() / kResumeCheckpoint, file);
  TinyTask other;
  try {
    train_in(run, other, tiny_recipe());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("'head.weight' has shape [3, 9] and this model's has [3, 8]"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace quest::train
