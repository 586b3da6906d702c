// Runs the built program the way a shell does.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_quest.h"

namespace quest::cli {
namespace {

TEST(Program, HelpNamesEveryCommand) {
  const auto outcome = run_quest("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* command : {"demo", "info", "bench", "toy", "train", "eval", "recipes", "report", "paper"})
    expect_contains(outcome, command);
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
        BadCall{"", "one of demo, info, bench"}, BadCall{"bench", "one of attention"}, BadCall{"bench fly", "fly"},
        BadCall{"fly", "fly"}, BadCall{"bench attention --colour", "--colour"},
        BadCall{"bench attention --shape 1,2", "NAME=B,H,N,D"},
        BadCall{"bench attention --shape vit-b=1,1,1,1", "already a shape called \"vit-b\""},
        BadCall{"bench attention --only vit-x", "vit-ti"}, BadCall{"bench attention --threads 0", "--threads"},
        BadCall{"bench attention --dtype int8", "float32, bfloat16, float16, float64"},
        BadCall{"bench attention --formulation qest", "elliptical_quest"},
        BadCall{"bench attention --json /no/such/folder/times.json", "/no/such/folder/times.json"},
        BadCall{"toy --tokens -1", "tokens: expected a number from 1"},
        BadCall{"toy --wiring post", "pre-norm or algorithm"},
        BadCall{"toy --formulations quest,qest", "expected one of standard"}, BadCall{"toy --device tpu", "--device"},
        BadCall{"toy --device cuda --tokens 1000", "--device cuda: "},
        BadCall{"toy --formulations elliptical", "estimated from data"}, BadCall{"toy --threads 0", "--threads"},
        BadCall{"toy --json /no/such/folder/toy.json", "/no/such/folder/toy.json"},
        BadCall{"toy --seed -1", "Value -1 not in range 0 to"},
        BadCall{"toy --learning-rates -1", "expected values from 0 to 10, got -1"},
        BadCall{"bench toy --json /no/such/folder/toy.json", "/no/such/folder/toy.json"},
        BadCall{"bench toy --samples 0", "samples: expected"}, BadCall{"info --shape 1,2,3", "3 of the four sizes"},
        BadCall{"info --formulation qest", "elliptical_quest"},
        BadCall{"info --shape 1,2,3,4 --dtype int8", "--dtype"}));

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

class ToyProgram : public ::testing::Test {
 protected:
  ~ToyProgram() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("quest_toy_program_" + std::to_string(getpid()));
  const std::string tiny_ =
      "toy --formulations quest,qknorm --tokens 6 --samples 20 --test-samples 10 --learning-rates 0.001,0.01 "
      "--weight-decays 0 --threads 2 --run " +
      folder_.string();
};

TEST_F(ToyProgram, DrawsTheGridAndKeepsWhatIsFinished) {
  const auto json_path = folder_.string() + ".json";
  const auto outcome = run_quest(tiny_ + " --epochs 2 --json " + json_path);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"40 trainings", "learning rate", "degenerate", "58 %", "results.jsonl"}) {
    expect_contains(outcome, text);
  }
  const auto json = nlohmann::json::parse(std::ifstream(json_path));
  std::filesystem::remove(json_path);
  EXPECT_EQ(json["formulations"][0]["trainings"], 20);
  EXPECT_EQ(json["formulations"][0]["paper_success_rate"], 0.58);
  EXPECT_EQ(json["formulations"][1]["success"].size(), 2U);
  expect_contains(run_quest(tiny_ + " --epochs 2"), "40 of them are finished");
}

TEST_F(ToyProgram, SaysHowToResumeWhenInterrupted) {
  const auto outcome = run_quest(tiny_ + " --epochs 100000 2>&1 & child=$!; sleep 1; kill -INT $child; wait $child");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.output;
  expect_contains(outcome, "0 of 40 trainings are finished and kept in " + folder_.string());
}

constexpr const char* kShortBench = "bench toy --formulations qknorm --samples 40 --epochs 1 --threads 1 --seconds 0.1";

TEST_F(ToyProgram, BenchPrintsBothRates) {
  const auto json_path = folder_.string() + ".json";
  const auto outcome = run_quest(std::string(kShortBench) + " --json " + json_path);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"ours per s", "python per s", "ratio"}) expect_contains(outcome, text);
  const auto json = nlohmann::json::parse(std::ifstream(json_path));
  std::filesystem::remove(json_path);
  EXPECT_GT(json[0]["ours_per_second"], 0.0);
  EXPECT_GT(json[0]["python_per_second"], 0.0) << outcome.output;
}

TEST_F(ToyProgram, BenchSaysWhyThereIsNoPythonLoop) {
  const auto outcome = run_quest(std::string(kShortBench) + " --python /no/such/python");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"No figure of the Python loop", "/no/such/python", "not found", "--python"}) {
    expect_contains(outcome, text);
  }
}

}  // namespace
}  // namespace quest::cli
