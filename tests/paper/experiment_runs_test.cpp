// Which runs may stand in one table.

#include <gtest/gtest.h>

#include "paper/comparison.h"
#include "tests/paper/made_up_runs.h"

namespace quest::paper {
namespace {

Run run_in(const std::string& folder, Settings settings) {
  auto run = run_of(std::move(settings), {{"error", 0.5}});
  run.folder = folder;
  return run;
}

Runs of_experiment(const Experiment& experiment, RunList runs) {
  return runs_of_experiment(experiment, {.runs = std::move(runs), .problems = {"an earlier one"}});
}

TEST(RunsOfExperiment, MayDifferInWhatTheSweepVaries) {
  const auto runs = of_experiment(
      experiment_of(""),
      {run_in("a", {{"model.head", "mean"}, {"train.epochs", "9"}, {"seed", "0"}, {"data.folder", "x"}}),
       run_in("b", {{"model.head", "first"}, {"train.epochs", "9.0"}, {"seed", "1"}, {"data.folder", ""}}),
       run_in("c", {{"model.head", "other"}, {"train.epochs", "9"}, {"seed", "2"}})});
  EXPECT_EQ(runs.runs.size(), 3U);
  EXPECT_EQ(runs.problems, std::vector<std::string>{"an earlier one"});
}

TEST(RunsOfExperiment, ThatDifferInSomethingElseAreLeftOut) {
  const auto runs =
      of_experiment(experiment_of(""), {run_in("a", {{"train.epochs", "2"}}), run_in("b", {{"train.epochs", "100"}}),
                                        run_in("c", {{"train.epochs", "100"}}), run_in("d", {})});
  ASSERT_EQ(runs.runs.size(), 2U);
  EXPECT_EQ(runs.runs[0].folder, "b");
  ASSERT_EQ(runs.problems.size(), 3U);
  EXPECT_EQ(runs.problems[1],
            "\"a\" is left out: train.epochs is 2 there and 100 in most runs of made-up/line; keep runs of different "
            "settings in different folders");
  EXPECT_EQ(runs.problems[2],
            "\"d\" is left out: train.epochs is missing there and 100 in most runs of made-up/line; keep runs of "
            "different settings in different folders");
}

TEST(RunsOfExperiment, OfEquallyManyTheFirstStay) {
  const auto runs =
      of_experiment(experiment_of(""), {run_in("a", {{"train.epochs", "2"}}), run_in("b", {{"train.epochs", "1"}})});
  ASSERT_EQ(runs.runs.size(), 1U);
  EXPECT_EQ(runs.runs[0].folder, "a");
}

TEST(RunsOfExperiment, OfAPackedFolderAreOneProblem) {
  RunList packed(5, run_in("packed", {{"train.epochs", "2"}}));
  packed.resize(11, run_in("more", {{"train.epochs", "1"}}));
  EXPECT_EQ(of_experiment(experiment_of(""), packed).problems.size(), 2U);
}

TEST(RunsOfExperiment, OfOtherRecipesAreNotItsOwn) {
  auto other = run_in("a", {{"train.epochs", "2"}});
  other.recipe = "made-up/curve";
  const auto runs = of_experiment(experiment_of(""), {other, run_in("b", {{"train.epochs", "1"}})});
  ASSERT_EQ(runs.runs.size(), 1U);
  EXPECT_EQ(runs.runs[0].folder, "b");
  EXPECT_EQ(runs.problems.size(), 1U);
}

TEST(RunsOfExperiment, OfEachRecipeAreComparedAmongThemselves) {
  auto experiment = experiment_of("");
  auto curve = experiment.sweep.front();
  curve.recipe = "made-up/curve";
  experiment.sweep.push_back(curve);
  auto other = run_in("a", {{"train.epochs", "2"}, {"curve.degree", "3"}});
  other.recipe = "made-up/curve";
  EXPECT_EQ(of_experiment(experiment, {other, run_in("b", {{"train.epochs", "1"}})}).runs.size(), 2U);
}

TEST(RunsOfExperiment, MayDifferInWhatItsSweepsSetDifferently) {
  auto experiment = experiment_of("");
  experiment.sweep.front().set = {{"model.depth", "1"}, {"train.monitor_every", "0"}};
  auto deep = experiment.sweep.front();
  deep.set = {{"model.depth", "2"}, {"train.monitor_every", "0.0"}};
  experiment.sweep.push_back(deep);
  const auto run = [](const std::string& depth, const std::string& monitor) {
    return run_in("run", {{"model.depth", depth}, {"train.monitor_every", monitor}});
  };
  EXPECT_EQ(of_experiment(experiment, {run("1", "0"), run("2", "0")}).runs.size(), 2U);
  EXPECT_EQ(of_experiment(experiment, {run("1", "0"), run("2", "0"), run("1", "5")}).runs.size(), 2U)
      << "what all set alike is not varied";
  experiment.sweep.back().set.pop_back();
  EXPECT_EQ(of_experiment(experiment, {run("1", "0"), run("2", "5")}).runs.size(), 2U) << "one leaves it as it is";
}

TEST(RunsOfExperiment, WithoutSweepsAreNone) {
  auto experiment = experiment_of("");
  experiment.sweep.clear();
  EXPECT_TRUE(of_experiment(experiment, {run_in("a", {})}).runs.empty());
}

}  // namespace
}  // namespace quest::paper
