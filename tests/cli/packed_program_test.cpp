// Thousands of tiny runs in one program: `quest paper toy --train`, `quest train toy/spurious`, `quest bench step`.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_quest.h"
#include "tests/testing/temporary_folder.h"

namespace quest::cli {
namespace {

using testing::text_of;

constexpr const char* kTinyData = "--set data.tokens=6 --set data.samples=20 --set data.test_samples=10 ";

class PackedProgram : public ::testing::Test {
 protected:
  [[nodiscard]] std::string runs() const { return (folder_.path() / "runs").string(); }
  [[nodiscard]] std::string run() const { return (folder_.path() / "run").string(); }
  // 2 formulations x 5 data sets x 2 learning rates x 2 initialisations.
  [[nodiscard]] std::string sweep() const {
    return "paper toy --small --train --device cpu --only model.formulation=quest,qnorm --only optimizer.lr=0.001,0.01 "
           "--only optimizer.weight_decay=0.0 " +
           std::string(kTinyData) + "--runs " + runs() + " ";
  }
  [[nodiscard]] nlohmann::json json(const char* name) const {
    return nlohmann::json::parse(text_of(folder_.path() / name));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(PackedProgram, TrainsTheGridPrintsItAndKeepsWhatIsFinished) {
  const auto outcome = run_quest(sweep() + "--set train.epochs=2 --json " + (folder_.path() / "paper.json").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"40 runs, 0 of them have ended", "40 runs in", "Figure 3: ", "success, %", "(20)"}) {
    expect_contains(outcome, text);
  }
  const auto runs_file = folder_.path() / "runs/toy-small/runs.jsonl";
  const auto lines = text_of(runs_file);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 40);

  const auto items = json("paper.json")["items"];
  const auto figure = std::ranges::find(items, "Figure 3", [](const auto& item) { return item["label"]; });
  ASSERT_NE(figure, items.end());
  const auto row = std::ranges::find((*figure)["rows"], "quest", [](const auto& one) { return one["title"]; });
  ASSERT_NE(row, (*figure)["rows"].end());
  EXPECT_EQ((*row)["cells"][0]["paper"]["value"], 58.0) << *row;
  EXPECT_EQ((*row)["cells"][0]["ours"]["values"].size(), 20U) << *row;

  const auto again = run_quest(sweep() + "--set train.epochs=2");
  EXPECT_EQ(again.exit_code, 0) << again.output;
  expect_contains(again, "40 runs, 40 of them have ended");
  EXPECT_EQ(text_of(runs_file), lines);
}

TEST_F(PackedProgram, SaysHowToGoOnWhenInterrupted) {
  const auto outcome = run_quest(sweep() + "--set train.epochs=100000 2>&1 & child=$!; until [ -e " + runs() +
                                 "/toy-small/run.json ]; do sleep 0.05; done; kill -INT $child; wait $child");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.output;
  expect_contains(outcome, "0 of 40 runs are finished and kept in " + runs() + "/toy-small");
  expect_contains(outcome, "The same command goes on from there");
}

TEST_F(PackedProgram, TrainsOneRunOfARecipe) {
  const auto train = "train toy/spurious --set train.epochs=2 " + std::string(kTinyData) + "--threads 1 --run " +
                     run() + " --json " + (folder_.path() / "outcome.json").string();
  const auto outcome = run_quest(train);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, run() + "/runs.jsonl");
  const auto line = json("run/runs.jsonl");
  EXPECT_EQ(line["status"], "finished");
  EXPECT_TRUE(line["metrics"].contains("success"));
  const auto ending = nlohmann::json{{"run", run()}, {"status", "finished"}, {"metrics", line["metrics"]}};
  EXPECT_EQ(json("outcome.json"), ending);
  EXPECT_EQ(json("run/run.json")["task"], "toy");
  const auto evaluated = run_quest("eval " + run());
  EXPECT_EQ(evaluated.exit_code, 2) << evaluated.output;
}

TEST_F(PackedProgram, TheOutcomeOfAnInterruptedRunSaysSo) {
  const auto file = (folder_.path() / "outcome.json").string();
  const auto outcome = run_quest("train toy/spurious --set train.epochs=100000 " + std::string(kTinyData) +
                                 "--threads 1 --run " + run() + " --json " + file + " 2>&1 & child=$!; until [ -e " +
                                 run() + "/run.json ]; do sleep 0.05; done; kill -INT $child; wait $child");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.output;
  EXPECT_EQ(json("outcome.json")["status"], "interrupted");
  EXPECT_TRUE(json("outcome.json")["metrics"].empty());
}

TEST_F(PackedProgram, BenchPrintsBothRates) {
  const auto outcome = run_quest("bench step toy/spurious --formulations quest --set train.epochs=1 " +
                                 std::string(kTinyData) + "--threads 1 --json " + (folder_.path() / "b.json").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"ours per s", "Python per s", "ratio"}) expect_contains(outcome, text);
  EXPECT_GT(json("b.json")[0]["ours_per_second"], 0.0);
  EXPECT_GT(json("b.json")[0]["python_per_second"], 0.0) << outcome.output;
}

TEST_F(PackedProgram, BenchSaysWhyThereIsNoPythonLoop) {
  const auto outcome = run_quest("bench step toy/spurious --formulations quest --set train.epochs=1 " +
                                 std::string(kTinyData) + "--threads 1 --python /no/such/python");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text :
       {"No time of a PyTorch loop for quest", "/no/such/python", "No such file or directory", "--python"}) {
    expect_contains(outcome, text);
  }
}

struct BadCall {
  const char* arguments;
  const char* message;
};

class BadPackedCalls : public ::testing::TestWithParam<BadCall> {};

TEST_P(BadPackedCalls, EndWithTwoAndAMessageThatNamesTheMistake) {
  const auto outcome = run_quest(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  expect_contains(outcome, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadPackedCalls,
    ::testing::Values(BadCall{"train toy/spurious --set data.tokens=-1", "data.tokens: expected a whole number from 1"},
                      BadCall{"train toy/spurious --set model.wiring=post",
                              "expected one of pre-norm, algorithm, got post"},
                      BadCall{"train toy/spurious --set model.formulation=qest", "expected one of standard"},
                      BadCall{"train toy/spurious --set model.formulation=elliptical", "estimated from data"},
                      BadCall{"train toy/spurious --device tpu", "--device"},
                      BadCall{"train toy/spurious --threads 0", "--threads"},
                      BadCall{"train toy/spurious --set seed=-1", "seed: expected a whole number from 0, got -1"},
                      BadCall{"train toy/spurious --set optimizer.lr=-1", "expected a number from 0 to 10, got -1"},
                      BadCall{"train toy/spurius", "the nearest is \"toy/spurious\""},
                      BadCall{"paper toy --train --only model.formulaton=quest", "model.formulation"},
                      BadCall{"paper toy --train --only model.formulation=quest,qest", "expected one of standard"},
                      BadCall{"bench step toy/spurious --json /no/such/folder/toy.json", "/no/such/folder/toy.json"},
                      BadCall{"bench step toy/spurious --set data.samples=0", "data.samples: expected"},
                      BadCall{"bench step toy/spurious --workers 2", "--workers and --load-cost"}));

}  // namespace
}  // namespace quest::cli
