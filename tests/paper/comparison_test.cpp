#include "paper/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/paper/made_up_runs.h"
#include "tests/paper/refusals.h"

namespace quest::paper {
namespace {

using testing::refusal_of;

constexpr const char* kTwoByTwo = R"(metric = "error"
metric_name = "error, %"
factor = 100
decimals = 1
has_means = true
columns = [
  { title = "mean", match = { model.head = "mean" } },
  { title = "first", match = { model.head = "first" } },
]
rows = [
  { title = "little", match = { data.noise = 0.1 }, numbers = ["1.5", "2.5 ± 0.1"] },
  { title = "much", match = { data.noise = 0.5 }, numbers = ["~3", "5"] },
  { title = "none", numbers = ["9", "crashed"] },
]
)";

Run run_with(const std::string& noise, const std::string& head, double error, const std::string& status = "finished") {
  return run_of({{"data.noise", noise}, {"model.head", head}}, {{"error", error}}, status);
}

Comparison compared(const Experiment& experiment, const RunList& runs) {
  return compare(experiment, experiment.items.front(), runs);
}

TEST(Comparison, HasMeansAndDeviationsOfASample) {
  const auto experiment = experiment_of(kTwoByTwo);
  const auto comparison = compared(experiment, {run_with("0.1", "mean", 0.5), run_with("0.1", "mean", 0.7),
                                                run_with("0.1", "mean", 0.6), run_with("0.1", "first", 0.25)});
  EXPECT_EQ(comparison.item, &experiment.items.front());
  EXPECT_EQ(comparison.columns, (std::vector<std::string>{"mean", "first"}));
  ASSERT_EQ(comparison.rows.size(), 3U);
  const auto& three = comparison.rows[0].cells[0].ours.value();
  ASSERT_EQ(three.values.size(), 3U);
  EXPECT_DOUBLE_EQ(three.values[1], 70.0) << "in the paper's unit, in the order of the runs";
  EXPECT_DOUBLE_EQ(three.mean, 60.0);
  EXPECT_NEAR(three.deviation, 10.0, 1e-12);
  const auto& one = comparison.rows[0].cells[1];
  EXPECT_DOUBLE_EQ(one.ours->mean, 25.0);
  EXPECT_EQ(one.ours->deviation, 0.0);
  EXPECT_EQ(one.paper->spread, 0.1);
  EXPECT_EQ(one.decimals, 1);
  EXPECT_TRUE(one.higher_is_better);
  EXPECT_FALSE(comparison.rows[1].cells[0].ours);
  EXPECT_EQ(comparison.rows[1].cells[0].paper->value, 3.0);
  EXPECT_FALSE(comparison.rows[2].cells[0].ours);
}

TEST(Comparison, CountsRunsThatEndedWellAndCrashes) {
  const auto experiment = experiment_of(kTwoByTwo);
  const auto comparison =
      compared(experiment, {run_with("0.1", "mean", 0.5, "stopped early"), run_with("0.1", "mean", 0.7),
                            run_with("0.1", "mean", 0.9, "crashed at iteration 7"),
                            run_with("0.1", "mean", 0.9, "running"), run_with("0.1", "mean", 0.9, "interrupted"),
                            run_with("0.1", "mean", 0.9, ""), run_with("0.5", "first", 0.9, "crashed at iteration 2")});
  const auto& cell = comparison.rows[0].cells[0];
  EXPECT_EQ(cell.ours->values.size(), 2U);
  EXPECT_DOUBLE_EQ(cell.ours->mean, 60.0);
  EXPECT_EQ(cell.crashed, 1U);
  EXPECT_FALSE(comparison.rows[1].cells[1].ours);
  EXPECT_EQ(comparison.rows[1].cells[1].crashed, 1U);
  EXPECT_EQ(comparison.rows[1].cells[0].crashed, 0U);
}

TEST(Comparison, ValuesMatchHoweverTheyAreWritten) {
  const auto experiment = experiment_of(kTwoByTwo);
  const auto comparison = compared(
      experiment, {run_with("1e-1", "mean", 0.5), run_with("0.10", "mean", 0.7), run_with("0.11", "mean", 0.9)});
  EXPECT_EQ(comparison.rows[0].cells[0].ours->values.size(), 2U);
}

TEST(Comparison, TheRecipeIsAKeyToo) {
  const auto experiment = experiment_of(
      "metric = 'error'\ncolumns = [{ title = 'c', match = { recipe = 'made-up/line' } }]\nrows = [{ title = 'r', "
      "match = {} }]\n");
  auto other = run_with("0.1", "mean", 0.9);
  other.recipe = "made-up/curve";
  const auto comparison = compared(experiment, {run_with("0.1", "mean", 0.5), other});
  EXPECT_EQ(comparison.rows[0].cells[0].ours->values, std::vector<double>{0.5});
}

TEST(Comparison, ARowOrColumnMayHaveAMetricOfItsOwn) {
  const auto experiment = experiment_of(R"(metric = "error"
columns = [
  { title = "error", match = {}, factor = 10, decimals = 0, higher_is_better = false },
  { title = "ece", match = {}, metric = "calibration:ece" },
]
rows = [{ title = "all", match = {} }]
)");
  auto run = run_with("0.1", "mean", 0.5);
  run.evaluations["calibration"]["ece"] = 0.03;
  auto later = run_with("0.1", "mean", 0.7);  // its calibration is still to be done
  const auto comparison = compared(experiment, {run, later});
  const auto& cells = comparison.rows[0].cells;
  EXPECT_DOUBLE_EQ(cells[0].ours->mean, 6.0);
  EXPECT_EQ(cells[0].decimals, 0);
  EXPECT_FALSE(cells[0].higher_is_better);
  EXPECT_EQ(cells[1].ours->values, std::vector<double>{0.03});
  EXPECT_EQ(cells[1].decimals, 2);
  EXPECT_TRUE(cells[1].higher_is_better);
  EXPECT_FALSE(cells[1].paper);
}

TEST(Comparison, WhatIsNotFiniteIsNoResult) {
  const auto experiment = experiment_of(kTwoByTwo);
  const auto comparison = compared(
      experiment, {run_with("0.1", "mean", NAN), run_with("0.1", "mean", INFINITY), run_with("0.1", "mean", 0.5)});
  EXPECT_EQ(comparison.rows[0].cells[0].ours->values, std::vector<double>{50.0});
}

constexpr const char* kSplit = "split = \"data.protocol\"";
constexpr const char* kProtocols = "data.protocol = [\"paper\", \"holdout\"]";

Run split_run(const std::string& protocol, const std::string& noise, const std::string& head, double error) {
  auto run = run_with(noise, head, error);
  run.settings["data.protocol"] = protocol;
  return run;
}

TEST(Comparison, ValuesOfTheSplitHaveRowsOfTheirOwn) {
  const auto experiment = experiment_of(kTwoByTwo, kSplit, kProtocols);
  const auto comparison =
      compared(experiment, {split_run("own", "0.1", "mean", 0.3), split_run("holdout", "0.1", "mean", 0.4),
                            split_run("paper", "0.1", "mean", 0.5), split_run("holdout", "0.5", "first", 0.6)});
  EXPECT_EQ(comparison.split, "data.protocol");
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& row : comparison.rows) rows.emplace_back(row.title, row.split);
  EXPECT_EQ(rows,
            (std::vector<std::pair<std::string, std::string>>{
                {"little", "paper"}, {"little", "holdout"}, {"little", "own"}, {"much", "holdout"}, {"none", ""}}))
      << "as the sweep has them, then others; once where we have nothing";
  EXPECT_DOUBLE_EQ(comparison.rows[1].cells[0].ours->mean, 40.0);
  EXPECT_EQ(comparison.rows[1].cells[0].paper->value, 1.5);
  EXPECT_EQ(comparison.rows[4].cells[0].paper->value, 9.0);
}

TEST(Comparison, MeansAreOverRowsThatHaveAllColumns) {
  const auto experiment = experiment_of(kTwoByTwo, kSplit, kProtocols);
  const auto comparison =
      compared(experiment, {split_run("paper", "0.1", "mean", 0.4), split_run("paper", "0.1", "mean", 0.6),
                            split_run("paper", "0.1", "first", 0.2), split_run("paper", "0.5", "mean", 0.3),
                            split_run("paper", "0.5", "first", 0.1), split_run("holdout", "0.1", "mean", 0.9),
                            split_run("holdout", "0.5", "mean", 0.9), split_run("holdout", "0.5", "first", 0.8)});
  ASSERT_EQ(comparison.means.size(), 2U);
  const auto& paper = comparison.means[0];
  EXPECT_EQ(paper.split, "paper");
  EXPECT_EQ(paper.title, "mean of 2");
  ASSERT_EQ(paper.cells[0].ours->values.size(), 2U) << "a value a row";
  EXPECT_NEAR(paper.cells[0].ours->mean, 40.0, 1e-12);
  EXPECT_EQ(paper.cells[0].ours->deviation, 0.0) << "what parts rows is no spread";
  EXPECT_NEAR(paper.cells[1].ours->mean, 15.0, 1e-12);
  EXPECT_NEAR(*paper.cells[0].paper->value, 2.25, 1e-12);
  EXPECT_EQ(paper.cells[1].paper->text, "3.8") << "of 2.5 and 5";
  const auto& holdout = comparison.means[1];
  EXPECT_EQ(holdout.title, "mean of 1");
  EXPECT_NEAR(holdout.cells[0].ours->mean, 90.0, 1e-12);
  EXPECT_EQ(holdout.cells[1].paper->value, 5.0);
}

TEST(Comparison, ThereAreNoMeansWithoutWholeRowsOrWhereNoneAreAsked) {
  EXPECT_TRUE(compared(experiment_of(kTwoByTwo), {run_with("0.1", "mean", 0.5)}).means.empty());
  std::string without = kTwoByTwo;
  without.replace(without.find("has_means = true"), 16, "");
  EXPECT_TRUE(
      compared(experiment_of(without), {run_with("0.1", "mean", 0.5), run_with("0.1", "first", 0.5)}).means.empty());
}

TEST(Comparison, NamesAMetricThatNoRunWrote) {
  std::string misspelt = kTwoByTwo;
  misspelt.replace(misspelt.find("\"error\""), 7, "\"eror\"");
  auto run = run_with("0.1", "mean", 0.5);
  run.evaluations["best"]["accuracy"] = 0.9;
  EXPECT_EQ(
      refusal_of<std::runtime_error>([&] { static_cast<void>(compared(experiment_of(misspelt), {run})); }),
      "paper/line.toml:13:1: item.metric: Table 1 asks for \"eror\", which the evaluation \"best\" did not write for "
      "the run in \"runs/line/run\"; expected one of: accuracy, error");
  EXPECT_NO_THROW(static_cast<void>(compared(experiment_of(misspelt), {}))) << "who knows";
  run.evaluations.clear();
  EXPECT_NO_THROW(static_cast<void>(compared(experiment_of(misspelt), {run}))) << "its evaluation is still to come";
}

TEST(Comparison, NamesTheColumnWhoseMetricNoRunWrote) {
  const auto experiment = experiment_of(
      "columns = [{ title = 'ece', match = {}, metric = 'calibration:ec' }]\nrows = [{ title = 'all', match = {} }]\n");
  auto run = run_with("0.1", "mean", 0.5);
  EXPECT_NO_THROW(static_cast<void>(compared(experiment, {run})));
  run.evaluations["calibration"]["ece"] = 0.5;
  testing::expect_contains(
      refusal_of<std::runtime_error>([&] { static_cast<void>(compared(experiment, {run})); }),
      "item.columns.metric: Table 1 asks for \"ec\", which the evaluation \"calibration\" did not write for the run in "
      "\"runs/line/run\"; expected one of: ece");
}

TEST(Comparison, NamesAKeyThatNoRunHas) {
  std::string misspelt = kTwoByTwo;
  misspelt.replace(misspelt.find("model.head = \"first\""), 20, "model.haed = \"first\"");
  const auto experiment = experiment_of(misspelt);
  const auto refusal = [](const Experiment& of, const RunList& runs) {
    return refusal_of<std::runtime_error>([&] { static_cast<void>(compared(of, runs)); });
  };
  EXPECT_EQ(
      refusal(experiment, {run_with("0.1", "mean", 0.5)}),
      "paper/line.toml:20:22: item.columns.match: no run has the key \"model.haed\"; the nearest is \"model.head\"");
  EXPECT_EQ(refusal(experiment, {}), "");
  EXPECT_EQ(refusal(experiment_of(kTwoByTwo, "split = \"data.protocl\""), {split_run("paper", "0.1", "mean", 0.5)}),
            "paper/line.toml:3:1: split: no run has the key \"data.protocl\"; the nearest is \"data.protocol\"");
}

// It may be a key of the recipe that no run has yet.
TEST(Comparison, AKeyMayBeThatOfARecipeWithoutRuns) {
  auto experiment = experiment_of(
      "metric = 'error'\ncolumns = [{ title = 'c', match = { model.depth = 2 } }]\n"
      "rows = [{ title = 'r', match = {} }]\n");
  auto& deep = experiment.sweep.emplace_back(experiment.sweep.front());
  deep.recipe = "made-up/deep";
  auto run = run_with("0.1", "mean", 0.5);
  EXPECT_NO_THROW(static_cast<void>(compared(experiment, {run})));
  auto other = run;
  other.recipe = "made-up/deep";
  EXPECT_THROW(static_cast<void>(compared(experiment, {run, other})), std::runtime_error);
}

TEST(Comparison, OfNoRunsIsThePapersTable) {
  const auto experiment = experiment_of(kTwoByTwo, kSplit, kProtocols);
  const auto comparison = compared(experiment, {});
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[0].split, "");
  EXPECT_EQ(comparison.rows[0].cells[1].paper->text, "2.5 ± 0.1");
  EXPECT_TRUE(comparison.means.empty());
}

TEST(Comparison, OfADrawingIsEmpty) {
  const auto experiment = experiment_of("");
  const auto comparison = compared(experiment, {run_with("0.1", "mean", 0.5)});
  EXPECT_TRUE(comparison.rows.empty());
  EXPECT_TRUE(comparison.columns.empty());
}

}  // namespace
}  // namespace quest::paper
