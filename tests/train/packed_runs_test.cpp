#include "train/run/packed_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "tests/testing/temporary_folder.h"

namespace quest::train {
namespace {

using testing::TemporaryFolder;
using testing::text_of;

PackedRunLine run_with(const std::string& formulation, double accuracy) {
  return {.settings = {{"model.formulation", formulation}, {"seed", "3"}},
          .result = {.status = "finished", .metrics = {{"accuracy", accuracy}}, .series = {{"loss", {2.3, 1.9}}}}};
}

void write(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder.path() / kPackedRunsFile, std::ios::binary) << text;
}

std::string only_problem(const TemporaryFolder& folder) {
  const auto lines = read_packed_runs(folder.path());
  EXPECT_TRUE(lines.runs.empty());
  EXPECT_EQ(lines.problems.size(), 1U);
  return lines.problems.empty() ? "" : lines.problems.front();
}

void expect_ends_with(const std::string& text, const std::string& end) {
  EXPECT_TRUE(text.ends_with(end)) << "expected at the end: " << end << "\nof: " << text;
}

TEST(PackedRuns, ComeBackAsTheyWereWritten) {
  const TemporaryFolder folder;
  PackedRunFile(folder.path()).add(std::vector{run_with("quest", 0.93), run_with("standard", 0.1 + 0.2)});
  const auto lines = read_packed_runs(folder.path());
  EXPECT_TRUE(lines.problems.empty());
  ASSERT_EQ(lines.runs.size(), 2U);
  EXPECT_EQ(lines.runs[0].settings, run_with("quest", 0.93).settings);
  EXPECT_EQ(lines.runs[0].result.status, "finished");
  EXPECT_EQ(lines.runs[0].result.series.dump(), R"({"loss":[2.3,1.9]})");
  EXPECT_EQ(lines.runs[1].result.metrics.at("accuracy"), 0.1 + 0.2);
}

TEST(PackedRuns, AreWrittenAsDocumented) {
  const TemporaryFolder folder;
  PackedRunFile(folder.path()).add(std::vector{run_with("quest", 0.93)});
  EXPECT_EQ(text_of(folder.path() / kPackedRunsFile),
            R"({"settings":{"model.formulation":"quest","seed":"3"},"status":"finished",)"
            R"("metrics":{"accuracy":0.93},"series":{"loss":[2.3,1.9]}})"
            "\n");
}

TEST(PackedRuns, KeepWhatIsNotFinite) {
  const TemporaryFolder folder;
  PackedRunFile(folder.path()).add(std::vector{run_with("quest", std::numeric_limits<double>::infinity())});
  const auto lines = read_packed_runs(folder.path());
  ASSERT_EQ(lines.runs.size(), 1U);
  EXPECT_TRUE(std::isnan(lines.runs[0].result.metrics.at("accuracy")));
}

TEST(PackedRuns, GoOnAfterTheLinesThatAreWhole) {
  const TemporaryFolder folder;
  PackedRunFile(folder.path()).add(std::vector{run_with("quest", 0.5)});
  std::ofstream(folder.path() / kPackedRunsFile, std::ios::app) << R"({"settings":{"model.form)";
  EXPECT_EQ(read_packed_runs(folder.path()).runs.size(), 1U);
  const auto torn = read_packed_runs(folder.path()).problems;
  ASSERT_EQ(torn.size(), 1U);
  expect_ends_with(torn[0], "line 2: expected an end of the line: its process was killed while it wrote");
  PackedRunFile(folder.path()).add(std::vector{run_with("qnorm", 0.25)});
  const auto lines = read_packed_runs(folder.path());
  EXPECT_TRUE(lines.problems.empty());
  ASSERT_EQ(lines.runs.size(), 2U);
  EXPECT_EQ(lines.runs[1].settings.at("model.formulation"), "qnorm");
}

TEST(PackedRuns, OfTheSameSettingsTheFirstCounts) {
  const TemporaryFolder folder;
  PackedRunFile(folder.path()).add(std::vector{run_with("quest", 0.5), run_with("qnorm", 0.6), run_with("quest", 0.7)});
  const auto lines = read_packed_runs(folder.path());
  ASSERT_EQ(lines.runs.size(), 2U);
  EXPECT_EQ(lines.runs[0].result.metrics.at("accuracy"), 0.5);
  ASSERT_EQ(lines.problems.size(), 1U);
  EXPECT_EQ(lines.problems[0], "\"" + (folder.path() / kPackedRunsFile).string() +
                                   "\", line 3: expected other settings than those of every line before");
}

TEST(PackedRuns, NoFileIsNoRun) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_packed_runs(folder.path()).runs.empty());
  EXPECT_TRUE(read_packed_runs(folder.path()).problems.empty());
}

TEST(PackedRuns, SayWhatIsWrongWithALine) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[1]", "line 1: expected a JSON object, got \"[1]\""},
      {R"({"status":"finished","metrics":{}})", "expected \"settings\", and it is missing"},
      {R"({"settings":[],"status":"finished","metrics":{}})", "\"settings\": expected an object, got []"},
      {R"({"settings":{"seed":3},"status":"finished","metrics":{}})", "settings: seed: expected a text, got 3"},
      {R"({"settings":{},"metrics":{}})", "expected \"status\", and it is missing"},
      {R"({"settings":{},"status":1,"metrics":{}})", "\"status\": expected a text, got 1"},
      {R"({"settings":{},"status":"finished","metrics":{"a":"x"}})",
       "metrics: a: expected a number or null, got \"x\""},
      {R"({"settings":{},"status":"finished","metrics":{},"series":3})", "\"series\": expected an object, got 3"},
  };
  for (const auto& [line, end] : cases) {
    write(folder, line + "\n");
    expect_ends_with(only_problem(folder), end);
  }
}

TEST(PackedRuns, ABrokenLineIsLeftAsItIs) {
  const TemporaryFolder folder;
  write(folder, "no json\n");
  EXPECT_THROW(PackedRunFile file(folder.path()), std::runtime_error);
  EXPECT_EQ(text_of(folder.path() / kPackedRunsFile), "no json\n");
}

}  // namespace
}  // namespace quest::train
