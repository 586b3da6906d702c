// `quest train`, `quest eval`, `quest recipes` and `quest bench step`, as a shell runs them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_quest.h"
#include "tests/cli/tiny_pictures.h"
#include "tests/testing/temporary_folder.h"

namespace quest::cli {
namespace {

namespace fs = std::filesystem;
using testing::text_of;

constexpr const char* kRecipe = "images/fashion-mnist-tiny";

class TrainingProgram : public ::testing::Test {
 protected:
  TrainingProgram() { write_tiny_pictures(folder_.path() / "pictures"); }

  // Two epochs of four steps with a model of a few hundred weights.
  [[nodiscard]] std::string tiny_model() const {
    return std::string(kRecipe) + " --data " + (folder_.path() / "pictures").string() +
           " --set train.batch_size=16 --set train.epochs=2 --set model.patch_size=14 --set model.dim=8 "
           "--set model.depth=1 --set model.heads=2 --threads 1 ";
  }
  [[nodiscard]] std::string run() const { return (folder_.path() / "run").string(); }
  [[nodiscard]] std::string tiny(const std::string& more = "") const {
    return tiny_model() + "--run " + run() + " " + more;
  }
  [[nodiscard]] fs::path in_folder(const char* name) const { return folder_.path() / name; }
  [[nodiscard]] nlohmann::json json(const char* name) const { return nlohmann::json::parse(text_of(in_folder(name))); }

  // Of all evaluations that metrics.jsonl holds.
  [[nodiscard]] double best_accuracy() const {
    std::ifstream lines(in_folder("run/metrics.jsonl"));
    double best = 0.0;
    for (std::string line; std::getline(lines, line);) {
      best = std::max(best, nlohmann::json::parse(line).value("accuracy", 0.0));
    }
    return best;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TrainingProgram, TrainsIntoAFolderThatEvalReads) {
  const auto trained = run_quest("train " + tiny("--json " + in_folder("train.json").string()));
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  for (const char* text : {"epoch 2.0, step 8: accuracy", "finished in ", "run"}) expect_contains(trained, text);
  EXPECT_EQ(trained.output.find('\033'), std::string::npos) << "a pipe must not receive colours";

  const auto run_file = json("run/run.json");
  EXPECT_EQ(run_file["status"], "finished");
  EXPECT_EQ(run_file["task"], "image");
  EXPECT_EQ(run_file["recipe"], kRecipe);
  EXPECT_EQ(run_file["seed"], 0);
  EXPECT_EQ(run_file["world_size"], 1);
  EXPECT_GT(run_file["parameters"], 0);
  EXPECT_GE(run_file["ended"].get<std::string>(), run_file["started"].get<std::string>());
  EXPECT_NE(run_file["command"].get<std::string>().find("--set model.dim=8"), std::string::npos);
  EXPECT_TRUE(fs::exists(in_folder("run/recipe.toml")));

  const auto ending = json("train.json");
  EXPECT_EQ(ending["status"], "finished");
  EXPECT_EQ(ending["steps"], 8);
  EXPECT_TRUE(ending["metrics"].contains("accuracy"));

  const auto evaluated = run_quest("eval " + run() + " --threads 1 --json " + in_folder("eval.json").string());
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.output;
  EXPECT_EQ(json("eval.json")["metrics"]["accuracy"].get<double>(), best_accuracy());
  EXPECT_EQ(json("run/evaluations/best.json")["metrics"]["accuracy"].get<double>(), best_accuracy());

  const auto of_weights = run_quest("eval " + tiny_model() + "--weights " + run() +
                                    "/checkpoints/best.safetensors --json " + in_folder("weights.json").string());
  EXPECT_EQ(of_weights.exit_code, 0) << of_weights.output;
  EXPECT_EQ(json("weights.json"), json("eval.json"));
}

TEST_F(TrainingProgram, WhatAnEvaluationFindsIsKeptInTheRun) {
  ASSERT_EQ(run_quest("train " + tiny()).exit_code, 0);
  const auto outcome = run_quest("eval " + run() + " --with calibration --set calibration.bins=5 --threads 1 --json " +
                                 in_folder("found.json").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "expected_calibration_error");
  const auto kept = json("run/evaluations/calibration.json");
  EXPECT_EQ(kept["evaluation"], "calibration");
  EXPECT_EQ(kept["weights"], "best.safetensors");
  EXPECT_EQ(kept["options"], (nlohmann::json{{"split", "test"}, {"bins", 5}}));
  EXPECT_EQ(kept["metrics"], json("found.json")["metrics"]);
  EXPECT_EQ(kept["metrics"]["accuracy"].get<double>(), best_accuracy());
  EXPECT_EQ(kept["metrics"]["samples"], 30.0);
  EXPECT_EQ(json("run/figures/calibration.json")["panels"].size(), 2U);
  EXPECT_FALSE(fs::exists(in_folder("run/evaluations/unfinished")));

  const auto page = run_quest("report " + run());
  EXPECT_EQ(page.exit_code, 0) << page.output;
  EXPECT_NE(text_of(in_folder("run/report.html")).find("Reliability"), std::string::npos);

  const auto misspelt = run_quest("eval " + run() + " --with calibraton --threads 1");
  EXPECT_EQ(misspelt.exit_code, 2) << misspelt.output;
  expect_contains(misspelt, "the nearest is \"calibration\"");
  const auto bad_key = run_quest("eval " + run() + " --with calibration --set calibration.bin=5 --threads 1");
  EXPECT_EQ(bad_key.exit_code, 2) << bad_key.output;
  expect_contains(bad_key, "the nearest is \"calibration.bins\"");
}

TEST_F(TrainingProgram, AnEvaluationOfAFileOfWeightsWritesNothing) {
  ASSERT_EQ(run_quest("train " + tiny()).exit_code, 0);
  fs::remove_all(in_folder("run/evaluations"));
  const auto outcome =
      run_quest("eval " + tiny_model() + "--with calibration --weights " + run() + "/checkpoints/best.safetensors");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "nll");
  EXPECT_FALSE(fs::exists(in_folder("run/evaluations")));
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

  const auto resumed = run_quest("train --threads 1 --resume --run " + run());
  EXPECT_EQ(resumed.exit_code, 0) << resumed.output;
}

TEST_F(TrainingProgram, AnInterruptedRunSaysHowToGoOn) {
  const auto interrupt = [&](const std::string& arguments, const std::string& signal) {
    const auto outcome = run_quest("train " + arguments + " 2>&1 & child=$!; until grep -qs running " + run() +
                                   "/run.json; do sleep 0.1; done; kill -" + signal + " $child; wait $child");
    EXPECT_EQ(outcome.exit_code, 130) << outcome.output;
    expect_contains(outcome, "`quest train --resume --run " + run() + "` goes on from there");
    EXPECT_EQ(json("run/run.json")["status"], "interrupted");
    EXPECT_TRUE(fs::exists(in_folder("run/checkpoints/resume.safetensors")));
  };
  interrupt(tiny("--set train.epochs=100000"), "INT");
  interrupt("--threads 1 --resume --run " + run(), "TERM");
}

TEST_F(TrainingProgram, ADivergedRunIsNamedAndKeepsItsLastSteps) {
  const auto outcome =
      run_quest("train " + tiny("--set optimizer.name=sgd --set optimizer.lr=1e30 --set optimizer.clip_norm=0"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  expect_contains(outcome, "the training crashed at iteration ");
  expect_contains(outcome, in_folder("run/crash.json").string());
  expect_contains(outcome, "no weights had been saved yet");
  EXPECT_FALSE(json("run/crash.json")["steps"].empty());
  expect_contains(run_quest("eval " + run() + " --threads 1"), "has no weights yet");
}

TEST_F(TrainingProgram, ADryRunShowsThePlanAndWritesNothing) {
  const auto outcome = run_quest("train " + tiny("--dry-run --json " + in_folder("plan.json").string()));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text :
       {"patch_embed", "blocks", "FLOP", "memory", "64 samples, 16 a step: 4 steps an epoch, 8 in 2 epochs",
        "learning rate", "0.00200 |", "step 8"}) {
    expect_contains(outcome, text);
  }
  EXPECT_FALSE(fs::exists(run()));
  const auto plan = json("plan.json");
  for (const char* key : {"parameters", "flops_forward", "memory_bytes", "steps"}) {
    ASSERT_TRUE(plan[key].is_number_integer()) << key << " " << plan[key];
    EXPECT_GT(plan[key], 0) << key;
  }
  EXPECT_EQ(plan["steps"], 8);

  ASSERT_EQ(run_quest("train " + tiny()).exit_code, 0);
  EXPECT_EQ(json("run/run.json")["parameters"], plan["parameters"]);
}

TEST_F(TrainingProgram, ThePackagesPicturesAreFoundWithoutBeingNamed) {
  constexpr const char* kPictures = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
  if (!fs::exists(kPictures)) GTEST_SKIP() << "no " << kPictures << "; install Debian's dataset-fashion-mnist";
  const auto outcome = run_quest("train " + std::string(kRecipe) + " --dry-run --threads 1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "60,000 samples, 128 a step");
}

class StepBench : public TrainingProgram {
 protected:
  [[nodiscard]] std::string bench(const std::string& more) const {
    return "bench step " + tiny_model() + "--formulations standard --steps 10 --rounds 1 --set train.batch_size=4 " +
           more;
  }
};

TEST_F(StepBench, TimesTheEngineBesideTheBareWorkAndPython) {
  const auto outcome = run_quest(bench("--workers 1 --json " + in_folder("bench.json").string()));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"engine ms", "overhead", "vs Python", "standard", "1 worker"})
    expect_contains(outcome, text);
  const auto times = json("bench.json")[0];
  for (const char* key : {"engine_ms", "bare_ms", "python_ms", "load_ms", "engine_workers_ms"}) {
    EXPECT_GT(times[key], 0.0) << key << "\n" << outcome.output;
  }
}

TEST_F(StepBench, SaysThatPythonCannotRunTheLoop) {
  const auto outcome = run_quest(bench("--python /no/such/python"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"No time of a PyTorch loop for standard", "/no/such/python", "--python", "engine ms"}) {
    expect_contains(outcome, text);
  }
}

TEST_F(StepBench, SaysThatThePythonLoopsKnowNoOtherFormulation) {
  const auto outcome = run_quest("bench step " + tiny_model() + "--formulations qknorm --steps 2 --rounds 1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "No time of a PyTorch loop for qknorm");
  expect_contains(outcome, "know the formulations quest and standard");
}

TEST(RecipesProgram, ListsThemAndShowsOneInFull) {
  const auto listed = run_quest("recipes");
  expect_contains(listed, kRecipe);
  expect_contains(listed, "A small vision transformer on the 28 x 28 pictures");
  const auto shown = run_quest("recipes show " + std::string(kRecipe));
  EXPECT_EQ(shown.exit_code, 0) << shown.output;
  for (const char* text : {"task = \"image\"", "[optimizer]", "lr = 0.002", "# base learning rate"}) {
    expect_contains(shown, text);
  }
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "copy.toml") << shown.output;
  const auto copied = run_quest("recipes show " + (folder.path() / "copy.toml").string());
  EXPECT_EQ(copied.output, shown.output) << "what is shown is a recipe that says the same";
}

}  // namespace
}  // namespace quest::cli
