// `quest paper timeseries`, and what it trains, as a shell runs them.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_quest.h"
#include "tests/domains/timeseries/small_series.h"
#include "tests/testing/temporary_folder.h"

namespace quest::cli {
namespace {

using testing::TemporaryFolder;
using testing::text_of;

class TimeSeriesProgram : public ::testing::Test {
 protected:
  // Ours under the names of two of the paper's data sets; the rest is nowhere.
  TimeSeriesProgram() {
    testing::write_small_series(folder_.path() / "data", "Heartbeat");
    testing::write_small_series(folder_.path() / "data", "PEMS-SF");
    ::setenv("QUEST_DATA", (folder_.path() / "data").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1);
  }
  ~TimeSeriesProgram() override {
    ::unsetenv("QUEST_DATA");
    ::unsetenv("XDG_CACHE_HOME");
  }

  [[nodiscard]] std::string runs() const { return (folder_.path() / "runs").string(); }
  [[nodiscard]] std::filesystem::path run_of(const std::string& name) const {
    return folder_.path() / "runs/timeseries" / name;
  }
  // Two epochs with a model of a few hundred weights; the class token alone.
  [[nodiscard]] std::string sweep(const std::string& more) const {
    return "paper timeseries --train --device cpu --seeds 1 --set train.epochs=2 --set model.dim=8 --set model.depth=1 "
           "--set model.heads=2 --set model.mlp_hidden=8 --only model.head=class_token --runs " +
           runs() + " " + more;
  }
  void break_data(const std::string& name) const { std::ofstream(folder_.path() / "data" / name) << "@data\nx:up\n"; }

  TemporaryFolder folder_;
};

int cells_with_ours(const nlohmann::json& item) {
  int count = 0;
  for (const auto& row : item["rows"]) {
    for (const auto& cell : row["cells"]) count += cell["ours"].is_null() ? 0 : 1;
  }
  return count;
}

TEST_F(TimeSeriesProgram, TrainsWhatIsMissingAndPrintsTheTables) {
  const std::string both = "--only model.formulation=standard,quest --only data.protocol=paper,holdout --jobs 2 ";
  const auto first = run_quest(sweep(both + "--only data.name=Heartbeat,Handwriting"));
  EXPECT_EQ(first.exit_code, 0) << first.output;
  expect_contains(first, "Handwriting_TRAIN.ts");  // not at hand, and no reason to stop
  expect_contains(first, "4 runs, 0 of them have ended");
  for (const char* text : {"Table 7: ", "Table A7: ", "Table A8: ", "78.54", "mean of 1"}) expect_contains(first, text);
  const auto run = run_of("Heartbeat/holdout/class_token/quest/seed-0");
  EXPECT_TRUE(std::filesystem::exists(run / "checkpoints/best.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(run / "checkpoints/resume.safetensors"));
  EXPECT_EQ(nlohmann::json::parse(text_of(run / "run.json"))["threads"], 1);

  const auto json = (folder_.path() / "results.json").string();
  const auto again = run_quest(sweep(both + "--only data.name=Heartbeat --json " + json));
  EXPECT_EQ(again.exit_code, 0) << again.output;
  expect_contains(again, "4 runs, 4 of them have ended");
  EXPECT_EQ(cells_with_ours(nlohmann::json::parse(text_of(json))["items"][0]), 4);

  const auto looked = run_quest("paper --runs " + runs() + " timeseries");
  EXPECT_EQ(looked.exit_code, 0) << looked.output;
  expect_contains(looked, "Table A8: ");
  expect_contains(run_quest("paper --runs " + runs()), "on 1 of 10; there the paper has 78.54 / 77.56");
  const auto page = run_quest("report " + runs() + "/timeseries");
  EXPECT_EQ(page.exit_code, 0) << page.output;
  EXPECT_NE(text_of(run_of("report.html")).find("id=\"table-a8\""), std::string::npos);
}

TEST_F(TimeSeriesProgram, ATrainingThatFailsIsNamedAndTheOthersGoOn) {
  break_data("Heartbeat_TEST.ts");
  const auto outcome =
      run_quest(sweep("--only model.formulation=quest --only data.protocol=paper --jobs 1 "
                      "--only data.name=Heartbeat,PEMS-SF"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  expect_contains(outcome, "Heartbeat/paper/class_token/quest/seed-0 failed with exit code 1: ");
  expect_contains(outcome, "Heartbeat_TEST.ts\": line 2: expected a finite number");
  expect_contains(outcome, "1 runs failed");
  EXPECT_TRUE(std::filesystem::exists(run_of("PEMS-SF/paper/class_token/quest/seed-0/checkpoints/best.safetensors")));
}

TEST_F(TimeSeriesProgram, ARunThatCannotBeReadIsNamedAndTheOthersGoOn) {
  const std::string one = "--only model.formulation=quest --only data.protocol=paper --jobs 1 ";
  for (const char* text : {"{ \"status\": ", "{\"status\": 3}"}) {
    const auto broken = run_of("Heartbeat/paper/class_token/quest/seed-0");
    std::filesystem::create_directories(broken);
    std::ofstream(broken / "run.json") << text;
    const auto outcome = run_quest(sweep(one + "--only data.name=Heartbeat,PEMS-SF"));
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    expect_contains(outcome, broken.string() + " failed: ");
    expect_contains(outcome, "1 runs failed");
    EXPECT_TRUE(std::filesystem::exists(run_of("PEMS-SF/paper/class_token/quest/seed-0/checkpoints/best.safetensors")));
    EXPECT_EQ(text_of(broken / "run.json"), text) << "it stays for whoever looks into it";
    EXPECT_FALSE(std::filesystem::exists(broken / "checkpoints"));
  }
}

TEST_F(TimeSeriesProgram, StopsItsTrainingsAndGoesOnWithThem) {
  const std::string one = "--only model.formulation=quest --only data.protocol=paper --only data.name=Heartbeat ";
  const auto run = run_of("Heartbeat/paper/class_token/quest/seed-0");
  const auto metrics = (run / "metrics.jsonl").string();
  const auto stopped =
      run_quest(sweep(one + "--set train.epochs=200 --set train.patience=0") + " 2>&1 & child=$!; until [ -s " +
                metrics + " ]; do sleep 0.1; done; kill -INT $child; wait $child");
  EXPECT_EQ(stopped.exit_code, 130) << stopped.output;
  expect_contains(stopped, "The same command goes on from there");
  EXPECT_EQ(nlohmann::json::parse(text_of(run / "run.json"))["status"], "interrupted");
  const auto resumed = run_quest(sweep(one + "--set train.epochs=200 --set train.patience=0"));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_NE(text_of(run / "log.txt").find("going on after step"), std::string::npos);
}

TEST_F(TimeSeriesProgram, TrainsOnAFolderAndEvaluatesOnANamedSet) {
  const auto folder = folder_.path() / "one";
  testing::write_small_series(folder, "Own");
  const auto outcome = run_quest(
      "train timeseries/uea --threads 1 --device cpu --set data.protocol=holdout --set train.epochs=1 --set "
      "model.dim=8 "
      "--data " +
      folder.string() + " --run " + (folder_.path() / "run").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "test_accuracy");
  const auto evaluated =
      run_quest("eval " + (folder_.path() / "run").string() + " --threads 1 --device cpu --data PEMS-SF");
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.output;
  expect_contains(evaluated, "test_accuracy");
}

struct BadSweep {
  const char* arguments;
  const char* message;
};

class BadSweeps : public ::testing::TestWithParam<BadSweep> {};

TEST_P(BadSweeps, EndWithTwoBeforeAnythingIsTrained) {
  const auto outcome = run_quest(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  expect_contains(outcome, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadSweeps,
    ::testing::Values(
        BadSweep{"paper timeseries --seeds 3", "without --train"},
        BadSweep{"paper timseries", "the nearest is \"timeseries\""},
        BadSweep{"paper timeseries --train --only data.name=Hartbeat", "the nearest known is \"Heartbeat\""},
        BadSweep{"paper timeseries --train --only data.nmae=Heartbeat",
                 "a key that this experiment varies: data.name, data.protocol, model.formulation, model.head"},
        BadSweep{"paper timeseries --train --only data.protocol=honest", "sweep: data.protocol: expected one of"},
        BadSweep{"paper timeseries --train --only model.head=mean", "model.head"},
        BadSweep{"paper timeseries --train --only model.formulation=qest", "model.formulation"},
        BadSweep{"paper timeseries --train --set train.epoch=1", "the nearest is \"train.epochs\""},
        BadSweep{"train timeseries/uea --set data.protocol=honest", "data.protocol"}));

}  // namespace
}  // namespace quest::cli
