// `quest train`, `quest eval` and `quest recipes`, as a shell runs them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_quest.h"

namespace quest::cli {
namespace {

constexpr const char* kPictures = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";

class TrainingProgram : public ::testing::Test {
 protected:
  TrainingProgram() {
    if (!std::filesystem::exists(kPictures)) skip_ = true;
  }
  ~TrainingProgram() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    if (skip_) GTEST_SKIP() << "no " << kPictures << "; install Debian's dataset-fashion-mnist";
  }

  // Two epochs of four steps with a model of a few hundred weights.
  [[nodiscard]] std::string tiny(const std::string& more = "") const {
    return "image --recipe fashion-mnist-tiny --set data.train_samples=64 --set train.batch_size=16 --set "
           "train.epochs=2 "
           "--set model.patch_size=14 --set model.dim=8 --set model.depth=1 --set model.heads=2 --threads 1 --run " +
           (folder_ / "run").string() + " " + more;
  }
  [[nodiscard]] nlohmann::json json(const char* name) const {
    return nlohmann::json::parse(std::ifstream(folder_ / name));
  }

  // Of all evaluations that metrics.jsonl holds.
  [[nodiscard]] double best_accuracy() const {
    std::ifstream lines(folder_ / "run/metrics.jsonl");
    double best = 0.0;
    for (std::string line; std::getline(lines, line);)
      best = std::max(best, nlohmann::json::parse(line).value("accuracy", 0.0));
    return best;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("quest_training_program_" + std::to_string(getpid()));
  bool skip_ = false;
};

TEST_F(TrainingProgram, TrainsIntoAFolderThatEvalReads) {
  std::filesystem::create_directories(folder_);
  const auto trained = run_quest("train " + tiny("--json " + (folder_ / "train.json").string()));
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  for (const char* text : {"epoch 2.0, step 8: accuracy", "finished in ", "run"}) expect_contains(trained, text);
  EXPECT_EQ(trained.output.find('\033'), std::string::npos) << "a pipe must not receive colours";

  const auto run = json("run/run.json");
  EXPECT_EQ(run["status"], "finished");
  EXPECT_EQ(run["task"], "image");
  EXPECT_EQ(run["recipe"], "fashion-mnist-tiny");
  EXPECT_EQ(run["world_size"], 1);
  EXPECT_GE(run["ended"].get<std::string>(), run["started"].get<std::string>());
  EXPECT_NE(run["command"].get<std::string>().find("--set model.dim=8"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/recipe.toml"));

  const auto ending = json("train.json");
  EXPECT_EQ(ending["status"], "finished");
  EXPECT_EQ(ending["steps"], 8);
  EXPECT_TRUE(ending["metrics"].contains("accuracy"));

  const auto evaluated = run_quest("eval image --threads 1 --run " + (folder_ / "run").string() + " --json " +
                                   (folder_ / "eval.json").string());
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.output;
  EXPECT_EQ(json("eval.json")["metrics"]["accuracy"].get<double>(), best_accuracy());
}

TEST_F(TrainingProgram, ARunIsNotOverwrittenAndResumesOnlyWithItsRecipe) {
  ASSERT_EQ(run_quest("train " + tiny()).exit_code, 0);
  const auto again = run_quest("train " + tiny());
  EXPECT_EQ(again.exit_code, 2) << again.output;
  expect_contains(again, "holds a run already (finished)");
  expect_contains(again, "--resume");

  const auto other = run_quest("train " + tiny("--set optimizer.lr=0.5 --resume"));
  EXPECT_EQ(other.exit_code, 2) << other.output;
  expect_contains(other, "optimizer.lr is 0.002 there and 0.5 here");

  const auto resumed = run_quest("train image --threads 1 --resume --run " + (folder_ / "run").string());
  EXPECT_EQ(resumed.exit_code, 0) << resumed.output;
}

TEST_F(TrainingProgram, AnInterruptedRunSaysHowToGoOn) {
  const auto run = (folder_ / "run").string();
  const auto interrupt = [&](const std::string& arguments, const std::string& signal) {
    const auto outcome = run_quest("train " + arguments + " 2>&1 & child=$!; until grep -qs running " + run +
                                   "/run.json; do sleep 0.1; done; kill -" + signal + " $child; wait $child");
    EXPECT_EQ(outcome.exit_code, 130) << outcome.output;
    expect_contains(outcome, "`quest train image --resume --run " + run + "` goes on from there");
    EXPECT_EQ(json("run/run.json")["status"], "interrupted");
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run/checkpoints/resume.safetensors"));
  };
  interrupt(tiny("--set train.epochs=100000"), "INT");
  interrupt("image --threads 1 --resume --run " + run, "TERM");
}

TEST_F(TrainingProgram, ADivergedRunIsNamedAndKeepsItsLastSteps) {
  const auto outcome =
      run_quest("train " + tiny("--set optimizer.name=sgd --set optimizer.lr=1e30 --set optimizer.clip_norm=0"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  expect_contains(outcome, "the training crashed at iteration ");
  expect_contains(outcome, (folder_ / "run/crash.json").string());
  expect_contains(outcome, "no weights had been saved yet");
  EXPECT_FALSE(json("run/crash.json")["steps"].empty());
}

TEST_F(TrainingProgram, ADryRunShowsThePlanAndWritesNothing) {
  const auto outcome = run_quest("train " + tiny("--dry-run"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text :
       {"patch_embed", "blocks", "FLOP", "memory", "64 samples, 16 a step: 4 steps an epoch, 8 in 2 epochs",
        "learning rate", "0.00200 |", "step 8"}) {
    expect_contains(outcome, text);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

constexpr const char* kShortBench =
    "bench train --formulations standard --steps 10 --rounds 1 --threads 1 --set train.batch_size=4 "
    "--set model.depth=1 ";

TEST_F(TrainingProgram, BenchTimesTheEngineBesideTheBareWorkAndPython) {
  std::filesystem::create_directories(folder_);
  const auto outcome = run_quest(kShortBench + ("--json " + (folder_ / "bench.json").string()));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"engine ms", "overhead", "vs Python", "standard"}) expect_contains(outcome, text);
  const auto times = json("bench.json")[0];
  for (const char* key : {"engine_ms", "bare_ms", "python_ms"}) EXPECT_GT(times[key], 0.0) << key;
}

TEST_F(TrainingProgram, BenchSaysThatPythonCannotRunTheLoop) {
  const auto outcome = run_quest(std::string(kShortBench) + "--python /no/such/python");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  for (const char* text : {"/no/such/python", "--python"}) expect_contains(outcome, text);
}

TEST_F(TrainingProgram, AFolderThatCannotBeWrittenIsReportedFirst) {
  const auto outcome = run_quest("train image --recipe fashion-mnist-tiny --run /proc/no/such/run");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  expect_contains(outcome, "the run folder \"/proc/no/such/run");
}

TEST_F(TrainingProgram, RecipesAreListedAndShownInFull) {
  expect_contains(run_quest("recipes"), "fashion-mnist-tiny");
  const auto shown = run_quest("recipes show fashion-mnist-tiny");
  EXPECT_EQ(shown.exit_code, 0) << shown.output;
  for (const char* text : {"task = \"image\"", "[optimizer]", "lr = 0.002", "# base learning rate"}) {
    expect_contains(shown, text);
  }
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "copy.toml") << shown.output;
  const auto copied = run_quest("recipes show " + (folder_ / "copy.toml").string());
  EXPECT_EQ(copied.output, shown.output) << "what is shown is a recipe that says the same";
}

struct BadTraining {
  const char* arguments;
  const char* message;
};

class BadTrainings : public ::testing::TestWithParam<BadTraining> {};

TEST_P(BadTrainings, EndWithTwoBeforeAnythingIsMade) {
  const auto outcome = run_quest(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  expect_contains(outcome, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadTrainings,
    ::testing::Values(
        BadTraining{"train", "task"}, BadTraining{"train image", "expected --recipe NAME or FILE"},
        BadTraining{"train imgae --recipe fashion-mnist-tiny", "the nearest is \"image\""},
        BadTraining{"train image --recipe fashion-mnist-tyni", "the nearest is \"fashion-mnist-tiny\""},
        BadTraining{"train image --recipe no/such.toml", "\"no/such.toml\" cannot be read"},
        BadTraining{"train image --recipe fashion-mnist-tiny --set optimizer.lrr=1", "the nearest is \"optimizer.lr\""},
        BadTraining{"train image --recipe fashion-mnist-tiny --set optimizer.lr=-1",
                    "expected a number above 0, got -1"},
        BadTraining{"train image --recipe fashion-mnist-tiny --set model.heads=7", "model.dim must be a multiple"},
        BadTraining{"train image --recipe fashion-mnist-tiny --set lr", "expected key=value"},
        BadTraining{"train image --recipe fashion-mnist-tiny --set task=graph", "a recipe of the task \"graph\""},
        BadTraining{"train image --recipe fashion-mnist-tiny --device tpu", "--device"},
        BadTraining{"train image --resume", "--resume --run FOLDER"},
        BadTraining{"eval image", "expected --run FOLDER, or --weights FILE"},
        BadTraining{"eval image --recipe fashion-mnist-tiny", "expected the weights to evaluate"},
        BadTraining{"eval image --run no/such/run", "\"no/such/run/recipe.toml\" cannot be read"},
        BadTraining{"recipes show fashion-mnist", "the nearest is \"fashion-mnist-tiny\""}));

}  // namespace
}  // namespace quest::cli
