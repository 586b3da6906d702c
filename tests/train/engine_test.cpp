#include "train/engine/engine.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "tests/testing/threads_as_processes.h"
#include "tests/train/tiny_run.h"
#include "tests/train/tiny_task.h"
#include "train/optim/schedule.h"

namespace quest::train {
namespace {

using testing::expect_same_bits;
using testing::expect_same_checkpoints;
using testing::json_of;
using testing::largest_difference;
using testing::QuietListener;
using testing::TinyRun;
using testing::TinyTask;
using testing::train_in;
using testing::weights;

Recipe tiny_recipe() {
  Recipe recipe{.task = "tiny", .seed = 5};
  recipe.train = {.epochs = 4, .batch_size = 16, .checkpoint_every = 3, .log_every = 1, .monitor_every = 2};
  recipe.optimizer.lr = 1e-2;
  recipe.optimizer.weight_decay = 0.05;
  return recipe;
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
    expect_same_checkpoints(whole, parts);
  }
}

TEST(Engine, AnyNumberOfWorkersEndsWithTheSameBits) {
  TinyRun alone;
  TinyTask task(0.2);
  task.noise = 0.3;
  train_in(alone, task, tiny_recipe());
  TinyRun quiet;
  TinyTask without_noise(0.2);
  train_in(quiet, without_noise, tiny_recipe());
  EXPECT_GT(largest_difference(weights(alone), weights(quiet)), 1e-4) << "the noise of load() is in the weights";
  for (const int workers : {1, 2, 7}) {
    TinyRun run;
    TinyTask same(0.2);
    same.noise = 0.3;
    train_in(run, same, tiny_recipe(), testing::kToTheEnd, workers);
    expect_same_checkpoints(alone, run);
  }
}

TEST(Engine, ARunResumedWithOtherWorkersEndsWithTheSameBits) {
  auto recipe = tiny_recipe();
  recipe.train.batch_size = 8;
  recipe.train.accumulate = 2;
  TinyRun whole;
  TinyTask task(0.2);
  task.noise = 0.3;
  train_in(whole, task, recipe);
  for (const auto& [steps, before, after] : {std::tuple{2, 3, 0}, {6, 0, 2}, {7, 5, 1}}) {
    TinyRun parts;
    TinyTask first(0.2);
    first.noise = 0.3;
    train_in(parts, first, recipe, steps, before);
    ASSERT_EQ(parts.ending.steps, steps);
    TinyTask second(0.2);
    second.noise = 0.3;
    train_in(parts, second, recipe, testing::kToTheEnd, after);
    expect_same_checkpoints(whole, parts);
  }
}

TEST(Engine, WhatLoadingThrowsEndsTheTraining) {
  for (const int workers : {0, 2}) {
    TinyRun run;
    TinyTask task;
    task.on_load = [](const data::Draw& draw) {
      if (draw.step == 5) throw std::runtime_error("sample 7 is not readable");
    };
    EXPECT_EQ(testing::error_of([&] { train_in(run, task, tiny_recipe(), testing::kToTheEnd, workers); }),
              "sample 7 is not readable");
    EXPECT_EQ(run.listener.steps.size(), 4) << "what came before is logged, but for the step that nobody has read yet";
  }
}

TEST(Engine, TheLengthMayBeGivenInSteps) {
  auto recipe = tiny_recipe();  // four steps an epoch
  recipe.train.steps = 7;
  recipe.train.eval_steps = 3;
  recipe.schedule.min_lr = 1e-3;
  TinyRun run;
  TinyTask task;
  train_in(run, task, recipe);
  EXPECT_EQ(run.ending.status, "finished");
  EXPECT_EQ(run.ending.steps, 7);
  EXPECT_EQ(run.listener.evaluation_steps, (std::vector<std::int64_t>{3, 6, 7}));
  ASSERT_EQ(run.listener.steps.size(), 7);
  for (const auto& report : run.listener.steps) {
    EXPECT_EQ(report.total_steps, 7);
    EXPECT_DOUBLE_EQ(report.epoch, static_cast<double>(report.step) / 4.0);
    EXPECT_EQ(report.lr, learning_rate(recipe.schedule, recipe.optimizer.lr, report.step - 1, 7, 4));
  }
  EXPECT_EQ(total_steps(recipe.train, 4), 7);
  recipe.train.steps = 0;
  EXPECT_EQ(total_steps(recipe.train, 4), 16);
}

TEST(Engine, EvaluatesEveryFewEpochsAndAtTheEnd) {
  auto recipe = tiny_recipe();
  recipe.train.epochs = 5;
  recipe.train.eval_every = 2;
  TinyRun run;
  TinyTask task;
  train_in(run, task, recipe);
  EXPECT_EQ(run.listener.evaluation_steps, (std::vector<std::int64_t>{8, 16, 20}));
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

// The loss is read when the next step is under way, or before anything is kept.
TEST(Engine, NothingIsKeptOfAStepThatDiverged) {
  auto recipe = tiny_recipe();
  recipe.train.checkpoint_every = 3;  // and an evaluation every four steps
  for (std::int64_t bad = 1; bad <= 16; ++bad) {
    SCOPED_TRACE(bad);
    TinyRun run;
    std::int64_t passes = 0;
    TinyTask task(0.2, [&](const at::Tensor& loss) { return ++passes == bad ? loss * NAN : loss; });
    std::int64_t evaluations = 0;
    task.on_evaluation = [&] {
      ++evaluations;
      for (const auto& parameter : task.model().parameters()) EXPECT_TRUE(at::isfinite(parameter).all().item<bool>());
    };
    train_in(run, task, recipe);
    const auto status = "crashed at iteration " + std::to_string(bad);
    EXPECT_EQ(run.ending.status, status);
    EXPECT_EQ(run.ending.steps, bad);
    EXPECT_EQ(run.listener.status, status);
    ASSERT_EQ(run.listener.steps.size(), static_cast<std::size_t>(bad));
    EXPECT_EQ(run.listener.steps.back().step, bad);
    EXPECT_TRUE(std::isnan(run.listener.steps.back().loss));
    EXPECT_EQ(json_of(run, kCrashFile)["steps"].size(), static_cast<std::size_t>(bad));
    EXPECT_EQ(evaluations, (bad - 1) / 4);
    std::int64_t kept = 0;
    for (std::int64_t step = 1; step < bad; ++step) kept = step % 3 == 0 || step % 4 == 0 ? step : kept;
    EXPECT_EQ(std::filesystem::exists(run.folder.path() / kResumeCheckpoint), kept > 0);
    if (kept == 0) continue;
    EXPECT_EQ(weights(run, kResumeCheckpoint).metadata.at("step"), std::to_string(kept));
    TinyRun healthy;
    TinyTask same(0.2);
    train_in(healthy, same, recipe, kept);
    expect_same_bits(weights(healthy, kResumeCheckpoint), weights(run, kResumeCheckpoint));
  }
}

TEST(Engine, AStepThatDivergedWhenItWasToStopIsNotKept) {
  TinyRun run;
  int passes = 0;
  TinyTask task(0.0, [&](const at::Tensor& loss) { return ++passes == 2 ? loss * NAN : loss; });
  train_in(run, task, tiny_recipe(), 2);
  EXPECT_EQ(run.ending.status, "crashed at iteration 2");
  EXPECT_FALSE(std::filesystem::exists(run.folder.path() / kResumeCheckpoint));
}

TEST(Engine, AllProcessesEndAtTheStepThatDivergedInOne) {
  for (const std::int64_t bad : {2, 4, 16}) {
    std::array<Ending, 2> endings;
    testing::as_processes(2, [&](Communicator& processes) {
      int passes = 0;
      TinyTask task(
          0.0, [&](const at::Tensor& loss) { return ++passes == bad && processes.rank() == 1 ? loss * NAN : loss; });
      auto recipe = tiny_recipe();
      recipe.train.batch_size = 8;
      QuietListener listener;
      endings[static_cast<std::size_t>(processes.rank())] = train(task, recipe, {processes, listener, nullptr});
    });
    for (const auto& ending : endings) EXPECT_EQ(ending.status, "crashed at iteration " + std::to_string(bad));
  }
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
