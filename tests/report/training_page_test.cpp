#include "report/training_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "report/attention_figures.h"
#include "report/charts/png.h"
#include "report/charts/step_axis.h"
#include "report/page/write.h"
#include "synthetic_training.h"
#include "tests/testing/temporary_folder.h"
#include "train/run/run_folder.h"

namespace quest::report {
namespace {

using testing::TemporaryFolder;
using testing::text_of;

Report report_of(std::vector<std::filesystem::path> folders) {
  std::vector<TrainingRun> runs;
  for (const auto& folder : folders) runs.push_back(read_training_run(folder));
  return training_report(runs);
}

std::string page_of(const std::filesystem::path& folder) { return page_html(report_of({folder}).page); }

std::string failure_of(const std::filesystem::path& folder) {
  try {
    static_cast<void>(page_of(folder));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> ids_of(const Report& report) {
  std::vector<std::string> ids;
  for (const Figure& figure : report.figures) ids.push_back(figure.id);
  return ids;
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part;
}

TEST(StepAxis, ShowsTheStepsOfTheLogWhereTheyFit) {
  const std::vector<std::vector<std::int64_t>> runs = {{10, 20, 30, 40}, {10, 20}};
  const StepAxis axis(runs, 100);
  EXPECT_EQ(axis.steps(), (std::vector<double>{10, 20, 30, 40}));
  const auto points = axis.points(std::vector<StepValue>{{10, 1.0}, {20, NAN}, {40, 3.0}});
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0]->middle, 1.0);
  EXPECT_FALSE(points[1]);
  EXPECT_FALSE(points[2]);
  EXPECT_EQ(points[3]->middle, 3.0);
}

TEST(StepAxis, GathersStepsThatDoNotFit) {
  std::vector<std::vector<std::int64_t>> runs(1);
  for (std::int64_t step = 801; step <= 1000; ++step) runs[0].push_back(step);
  const StepAxis axis(runs, 50);
  EXPECT_EQ(axis.size(), 50U);
  EXPECT_EQ(axis.steps().front(), 804.0);
  EXPECT_EQ(axis.steps().back(), 1000.0);
  EXPECT_EQ(axis.points(std::vector<StepValue>{{801, 1.0}, {802, 2.0}, {804, 6.0}})[0]->middle, 2.0);
}

TEST(StepAxis, OfNothingIsEmpty) {
  EXPECT_EQ(StepAxis({}, 10).size(), 0U);
  EXPECT_EQ(StepAxis(std::vector<std::vector<std::int64_t>>{{7}}, 10).steps(), (std::vector<double>{7}));
}

TEST(ShortNames, KeepWhatDiffers) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(short_names({"blocks.0.attn", "blocks.0.attn", "blocks.11.attn"}), (Names{"0", "0", "11"}));
  EXPECT_EQ(short_names({"a.0.self", "a.0.cross"}), (Names{"self", "cross"}));
  EXPECT_EQ(short_names({"attn", "attn"}), (Names{"attn", "attn"}));
  EXPECT_EQ(short_names({"attn", "blocks.attn"}), (Names{"attn", "blocks.attn"}));
  EXPECT_EQ(short_names({}), Names{});
}

TEST(TrainingPage, ShowsCurvesAndMaps) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path() / "quest");
  const auto report = report_of({folder.path() / "quest"});
  EXPECT_EQ(ids_of(report), (std::vector<std::string>{"training", "evaluation", "max-logit", "key-norm", "key-norms",
                                                      "query-norms", "entropy", "sink"}));
  EXPECT_EQ(report.figures[0].panels.size(), 4U);
  EXPECT_EQ(report.figures[1].panels.size(), 2U);
  EXPECT_EQ(report.figures[4].panels.size(), 2U) << "median and upper quantile";
  const auto page = page_html(report.page);
  expect_contains(page, "quest: finished, 600 steps, accuracy 0.8908, loss 0.3498.");
  expect_contains(page, "name = &quot;&lt;b&gt;&quot; # bold");
  expect_contains(page, "aria-label=\"layer 2, head 3&#10;step 600&#10;max logit ");
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("The crash"), std::string::npos);
}

TEST(TrainingPage, TellsWhoseLogitGrewFirst) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path() / "standard", {.crashes = true});
  const auto report = report_of({folder.path() / "standard"});
  const auto page = page_html(report.page);
  expect_contains(page,
                  "Crashed at iteration 600: loss is nan. The first logit to grow in the last 200 steps, at step 450: "
                  "layer blocks.1.attn head 2: max logit grew in ");
  ASSERT_EQ(ids_of(report)[2], "crash");
  EXPECT_EQ(report.figures[2].panels.size(), 3U);
  EXPECT_EQ(report.figures[2].legend.front().name, "blocks.1.attn head 2");
}

TEST(TrainingPage, TellsOfACrashBeforeAnythingWasLogged) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path() / "standard", {.steps = 3, .crashes = true});
  const auto report = report_of({folder.path() / "standard"});
  const auto page = page_html(report.page);
  expect_contains(page, "standard: crashed at iteration 3, 3 steps");
  expect_contains(page, "Crashed at iteration 3: loss is nan.");
  EXPECT_EQ(std::ranges::count(ids_of(report), "crash"), 1);
}

TEST(TrainingPage, ComparesRuns) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path() / "quest");
  write_synthetic_training(folder.path() / "standard", {.steps = 580, .crashes = true});
  const auto report = report_of({folder.path() / "quest", folder.path() / "standard"});
  EXPECT_EQ(report.figures[0].legend.size(), 2U);
  EXPECT_EQ(ids_of(report)[2], "run2-crash");
  EXPECT_EQ(report.figures[3].panels.size(), 2U) << "one map per run";
  expect_contains(page_html(report.page), "<h2 id=\"run2-recipe-title\">standard: Recipe</h2>");
}

TEST(TrainingPage, IsTheSameForTheSameFolder) {
  const TemporaryFolder one;
  const TemporaryFolder other;
  write_synthetic_training(one.path() / "run", {.crashes = true});
  write_synthetic_training(other.path() / "run", {.crashes = true});
  EXPECT_EQ(page_of(one.path() / "run"), page_of(other.path() / "run"));
}

TEST(TrainingPage, LooksAtARunThatGoesOn) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path(), {.steps = 7});
  std::ofstream(folder.path() / train::kMetricsFile, std::ios::app) << R"({"kind":"tr)";
  expect_contains(page_of(folder.path()), "5 steps.");
}

TEST(TrainingPage, StaysLightForLargeModels) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path(), {.layers = 12, .heads = 12});
  EXPECT_LT(page_of(folder.path()).size(), 8U << 20U);
}

TEST(TrainingPage, FailuresNameTheFileAndTheRemedy) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_training_run(folder.path()));
  write_synthetic_training(folder.path(), {.steps = 1});
  EXPECT_TRUE(is_training_run(folder.path()));
  expect_contains(failure_of(folder.path()), "metrics.jsonl\" was expected to hold logged steps and holds none");
  std::ofstream(folder.path() / train::kMetricsFile) << "{\"kind\":\"train\"}\n";
  expect_contains(failure_of(folder.path()), "metrics.jsonl\" was expected to be of a training run and is not");
  std::ofstream(folder.path() / train::kStatsFile) << "x\n";
  std::ofstream(folder.path() / train::kMetricsFile) << "";
  expect_contains(failure_of(folder.path()), "stats.jsonl\", line 1: expected a JSON object");
  EXPECT_THROW(static_cast<void>(training_report({})), std::runtime_error);
  const std::vector<TrainingRun> many(7);
  EXPECT_THROW(static_cast<void>(training_report(many)), std::runtime_error);
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(TrainingPage, ShowsWhatEvaluationsFoundAndDrew) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path() / "quest");
  write_file(folder.path() / "quest/evaluations/best.json",
             R"({"evaluation": "best", "step": 500, "metrics": {"accuracy": 0.875, "loss": null}})");
  write_file(folder.path() / "quest/evaluations/calibration.json",
             R"({"evaluation": "calibration", "metrics": {"ece": 0.0625}})");
  write_file(
      folder.path() / "quest/figures/calibration.json",
      R"({"id": "calibration", "title": "<Reliability>", "panels": [{"kind": "line", "series": [{"y": [0, 1]}]}]})");
  const auto report = report_of({folder.path() / "quest"});
  const auto page = page_html(report.page);
  expect_contains(page, "quest: finished, 600 steps; best evaluation at step 500, accuracy 0.875, loss –.");
  expect_contains(page, "data-key=\"0.0625\">0.0625</td>");
  expect_contains(page, "&lt;Reliability&gt;");
  EXPECT_EQ(page.find("<Reliability>"), std::string::npos);
  EXPECT_EQ(std::ranges::count(ids_of(report), "figure-calibration"), 1);
  EXPECT_EQ(page.find("What could not be read"), std::string::npos);
}

TEST(TrainingPage, NamesBrokenFilesAndLeavesThemOut) {
  const TemporaryFolder folder;
  write_synthetic_training(folder.path() / "quest");
  write_file(folder.path() / "quest/evaluations/best.json", "{\"metrics\": 3}");
  write_file(folder.path() / "quest/figures/<b>.json", "{");
  const auto report = report_of({folder.path() / "quest"});
  const auto page = page_html(report.page);
  expect_contains(page, "What could not be read");
  expect_contains(page, "best.json&quot; was expected to be an evaluation and is not: ");
  expect_contains(page, "&lt;b&gt;.json&quot; was expected to be a figure and is not: ");
  EXPECT_EQ(page.find("<b>.json"), std::string::npos);
  expect_contains(page, "quest: finished, 600 steps, accuracy 0.8908, loss 0.3498.");
}

TEST(TrainingPage, WritesEveryFigureAsSvgAndPng) {
  if (!kDrawsPng) GTEST_SKIP() << "skipped: this build has no librsvg";
  const TemporaryFolder folder;
  write_synthetic_training(folder.path() / "run", {.crashes = true});
  const auto report = report_of({folder.path() / "run"});
  write_figures(report, folder.path() / "figures");
  for (const Figure& figure : report.figures) {
    EXPECT_TRUE(text_of(folder.path() / "figures" / (figure.id + ".png")).starts_with("\x89PNG")) << figure.id;
  }
}

}  // namespace
}  // namespace quest::report
