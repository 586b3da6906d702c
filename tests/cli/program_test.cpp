// Runs the built program the way a shell does.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_quest.h"
#include "tests/cli/tiny_pictures.h"
#include "tests/testing/temporary_folder.h"

namespace quest::cli {
namespace {

TEST(Program, HelpNamesEveryCommand) {
  const auto outcome = run_quest("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* command : {"demo", "train", "eval", "paper", "report", "recipes", "data", "bench", "info"}) {
    expect_contains(outcome, "\n  " + std::string(command) + " ");
  }
}

TEST(Program, VersionIsTheProjectVersion) {
  const auto outcome = run_quest("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output, "quest " QUEST_VERSION "\n");
}

struct BadCall {
  const char* arguments;
  const char* message;
};

class BadCalls : public ::testing::TestWithParam<BadCall> {};

TEST_P(BadCalls, EndWithTwoAndAMessageThatNamesTheMistake) {
  const auto outcome = run_quest(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  expect_contains(outcome, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadCalls,
    ::testing::Values(
        BadCall{"", "one of demo, train, eval"}, BadCall{"bench", "one of step, data, attention"},
        BadCall{"bench fly", "fly"}, BadCall{"fly", "fly"}, BadCall{"bench attention --colour", "--colour"},
        BadCall{"bench attention --shape 1,2", "NAME=B,H,N,D"},
        BadCall{"bench attention --shape vit-b=1,1,1,1", "already a shape called \"vit-b\""},
        BadCall{"bench attention --only vit-x", "vit-ti"}, BadCall{"bench attention --threads 0", "--threads"},
        BadCall{"bench attention --dtype int8", "float32, bfloat16, float16, float64"},
        BadCall{"bench attention --formulation qest", "elliptical_quest"},
        BadCall{"bench attention --json /no/such/folder/times.json", "/no/such/folder/times.json"},
        BadCall{"info --shape 1,2,3", "3 of the four sizes"}, BadCall{"info --formulation qest", "elliptical_quest"},
        BadCall{"info --shape 1,2,3,4 --dtype int8", "--dtype"},
        BadCall{"data Hartbeat", "there is no data set \"Hartbeat\"; the nearest is \"Heartbeat\""}));

TEST(Program, BenchWritesTheTableAndTheJson) {
  const auto path = std::filesystem::temp_directory_path() / ("quest_bench_" + std::to_string(getpid()) + ".json");
  const auto outcome = run_quest(
      "bench attention --shape tiny=2,2,9,8,causal,kv=1 --only tiny --threads 1 --repetitions 3 "
      "--seconds 0 --json " +
      path.string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "2,2,9,8,causal,kv=1");
  expect_contains(outcome, "geometric mean");

  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::filesystem::remove(path);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["pass"], "forward");
  EXPECT_EQ(json[1]["pass"], "forward+backward");
  for (const auto& row : json) {
    EXPECT_EQ(row["shape"], "tiny");
    for (const char* key : {"ours_ms", "torch_standard_ms", "torch_quest_ms"}) EXPECT_GT(row[key].get<double>(), 0.0);
  }
}

TEST(Program, BenchRunsEveryFormulation) {
  for (const char* name :
       {"standard", "quest", "qnorm", "qknorm_hs", "qknorm_ds", "qknorm", "elliptical", "elliptical_quest"}) {
    const auto outcome = run_quest(
        "bench attention --shape tiny=1,2,9,8 --only tiny --threads 1 --repetitions 1 --seconds 0 "
        "--formulation " +
        std::string(name));
    EXPECT_EQ(outcome.exit_code, 0) << name << "\n" << outcome.output;
  }
}

TEST(Program, InfoNamesTheKernelOfAShape) {
  const auto outcome = run_quest("info --shape 16,8,256,16,causal --dtype bfloat16 --formulation qknorm");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"quest", "torch", "highway", "instruction set", "threads", "GPU", "fused"}) {
    expect_contains(outcome, text);
  }
}

TEST(Program, DemoShowsTheCollapseAndTheSpeed) {
  const auto outcome = run_quest("demo");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"1000", "entropy", "max logit", "torch standard", "torch QUEST"}) {
    expect_contains(outcome, text);
  }
  EXPECT_EQ(outcome.output.find('\033'), std::string::npos) << "a pipe must not receive colours";
}

TEST(Program, DemoTrainsASmallExperimentWhenItIsAsked) {
  const testing::TemporaryFolder folder;
  const auto runs = (folder.path() / "runs").string();
  const auto outcome = run_quest("demo --train --runs " + runs + " 2>&1 & child=$!; until ls " + runs +
                                 "/*/run.json >/dev/null 2>&1; do sleep 0.05; done; kill -INT $child; wait $child");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.output;
  for (const char* text : {"A tiny transformer on made-up data", "720 runs, 0 of them", "kept in "}) {
    expect_contains(outcome, text);
  }
  EXPECT_EQ(outcome.output.find("growing key"), std::string::npos);
}

class DataProgram : public ::testing::Test {
 protected:
  DataProgram() {
    ::setenv("QUEST_DATA", (folder_.path() / "data").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1);
  }
  ~DataProgram() override {
    ::unsetenv("QUEST_DATA");
    ::unsetenv("XDG_CACHE_HOME");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(DataProgram, ListsEveryDataSetAndHowToGetWhatIsMissing) {
  const auto pictures = (folder_.path() / "data/fashion-mnist").string();
  write_tiny_pictures(pictures);
  const auto outcome = run_quest("data");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"Fashion-MNIST", "31 MB", "MIT", "UWaveGestureLibrary", "To get what is missing:"}) {
    expect_contains(outcome, text);
  }
  expect_contains(outcome, pictures);
  expect_contains(outcome, "  Heartbeat: unpack timeseriesclassification.com");
  EXPECT_EQ(outcome.output.find("  Fashion-MNIST: "), std::string::npos) << "it is there";
}

TEST_F(DataProgram, TellsMoreOfOne) {
  const auto outcome = run_quest("data Heartbeat");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text :
       {"204 cases to train", "domain       timeseries", "where        missing", "to get it    unpack"}) {
    expect_contains(outcome, text);
  }
}

}  // namespace
}  // namespace quest::cli
