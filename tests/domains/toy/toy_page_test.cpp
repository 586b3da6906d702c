#include "domains/toy/toy_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "domains/toy/toy_folder.h"
#include "report/charts/markup.h"
#include "report/charts/png.h"
#include "report/page/write.h"
#include "tests/domains/toy/synthetic_run.h"

namespace quest::report {
namespace {

using toy::read_toy_run;

std::string page_of(const std::filesystem::path& folder) {
  const std::vector runs = {read_toy_run(folder)};
  return page_html(toy::toy_report(runs).page);
}

std::string failure_of(const std::filesystem::path& folder) {
  try {
    static_cast<void>(page_of(folder));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part;
}

TEST(ToyRead, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  write_synthetic_run(folder.path() / "run");
  const auto run = read_toy_run(folder.path() / "run");
  EXPECT_EQ(toy::to_json(run.settings), toy::to_json(synthetic_settings()));
  EXPECT_EQ(run.program, "quest 1.2.3");
  const auto trainings = toy::trainings_of(run.settings);
  ASSERT_EQ(run.results.size(), trainings.size());
  for (std::size_t i = 0; i < trainings.size(); ++i) EXPECT_EQ(run.results[i].training, trainings[i]);
}

TEST(ToyRead, FindsRunsNewestFirst) {
  const TemporaryFolder folder;
  EXPECT_TRUE(toy::toy_runs_in(folder.path()).empty());
  EXPECT_TRUE(toy::toy_runs_in(folder.path() / "missing").empty());
  write_synthetic_run(folder.path() / "a");
  write_synthetic_run(folder.path() / "b");
  write_synthetic_run(folder.path() / "unstarted", 0);
  std::filesystem::create_directories(folder.path() / "unrelated");
  const auto results = folder.path() / "b" / toy::kToyResultsFile;
  std::filesystem::last_write_time(results, std::filesystem::last_write_time(results) - std::chrono::hours(1));
  const auto runs = toy::toy_runs_in(folder.path());
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].filename(), "a");
  EXPECT_EQ(toy::toy_runs_in(folder.path() / "b").size(), 1U);
}

TEST(ToyPage, CountsWhatTheRunHolds) {
  const TemporaryFolder folder;
  write_synthetic_run(folder.path());
  const std::vector runs = {read_toy_run(folder.path())};
  const auto report = toy::toy_report(runs);
  EXPECT_EQ(report.figures.size(), 6U);
  const auto page = page_html(report.page);
  const auto summaries = toy::summarize(runs[0].settings, runs[0].results);
  ASSERT_EQ(summaries[1].formulation, "quest");
  const auto rate = summaries[1].success_rate();
  EXPECT_GT(rate, 0.5);
  expect_contains(page, "data-key=\"" + number(rate, 9) + "\">" + percent(rate) + "</td>");
  expect_contains(page, "data-key=\"0.58\">58\u00a0%</td>");
  EXPECT_EQ(page.find("unfinished"), std::string::npos);
}

TEST(ToyPage, IsTheSameForTheSameFolder) {
  const TemporaryFolder one;
  const TemporaryFolder other;
  write_synthetic_run(one.path() / "run");
  write_synthetic_run(other.path() / "run");
  EXPECT_EQ(page_of(one.path() / "run"), page_of(other.path() / "run"));
}

TEST(ToyPage, NamesUnfinishedRuns) {
  const TemporaryFolder folder;
  write_synthetic_run(folder.path(), 7);
  expect_contains(page_of(folder.path()), "This run is unfinished: 7 of 144 trainings.");
}

TEST(ToyPage, EscapesWhatTheFolderSays) {
  const TemporaryFolder folder;
  write_synthetic_run(folder.path(), 7, "<script>alert(1)</script>");
  const auto page = page_of(folder.path());
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  expect_contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;");
}

TEST(ToyPage, PutsRunsSideBySide) {
  const TemporaryFolder folder;
  write_synthetic_run(folder.path() / "first");
  write_synthetic_run(folder.path() / "second", 50);
  const std::vector runs = {read_toy_run(folder.path() / "first"), read_toy_run(folder.path() / "second")};
  const auto report = toy::toy_report(runs);
  EXPECT_EQ(report.figures.size(), 12U);
  EXPECT_EQ(report.figures[6].id, "run2-success");
  expect_contains(page_html(report.page), "<h2 id=\"runs-title\">Runs side by side</h2>");
}

TEST(ToyPage, FailuresNameTheFileAndTheRemedy) {
  const TemporaryFolder folder;
  expect_contains(failure_of(folder.path() / "missing"), "is not there");
  expect_contains(failure_of(folder.path()), "settings.json\" was expected to hold the settings of a run");
  const auto run = folder.path() / "run";
  write_synthetic_run(run, 0);
  expect_contains(failure_of(run), "holds none; go on with that run first");
  std::ofstream(run / toy::kToyResultsFile) << "{\"formulation\": 3}\n";
  expect_contains(failure_of(run), "results.jsonl\", line 1: expected a finished training");
  std::ofstream(run / toy::kToySettingsFile) << "{\"experiment\": \"toy\", \"settings\": {\"tokens\": \"x\"}}";
  expect_contains(failure_of(run), "settings.json");
  EXPECT_THROW(static_cast<void>(toy::toy_report({})), std::runtime_error);
}

TEST(ToyPage, WritesEveryFigureAsSvgAndPng) {
  if (!kDrawsPng) GTEST_SKIP() << "skipped: this build has no librsvg";
  const TemporaryFolder folder;
  write_synthetic_run(folder.path() / "run");
  const std::vector runs = {read_toy_run(folder.path() / "run")};
  const auto report = toy::toy_report(runs);
  write_figures(report, folder.path() / "figures");
  for (const Figure& figure : report.figures) {
    EXPECT_TRUE(text_of(folder.path() / "figures" / (figure.id + ".svg")).starts_with("<svg")) << figure.id;
    EXPECT_TRUE(text_of(folder.path() / "figures" / (figure.id + ".png")).starts_with("\x89PNG")) << figure.id;
  }
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_THROW(write_figures(report, folder.path() / "file"), std::runtime_error);
  EXPECT_THROW(write_page(report, folder.path() / "file" / "page.html"), std::runtime_error);
}

}  // namespace
}  // namespace quest::report
