#include "domains/timeseries/time_series_page.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "report/charts/dot_chart.h"

namespace quest::report {
namespace {

using timeseries::TimeSeriesTraining;

std::vector<TimeSeriesTraining> trainings() {
  std::vector<TimeSeriesTraining> all;
  for (const char* protocol : {"paper", "holdout"}) {
    for (const char* formulation : {"standard", "quest"}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        all.push_back({.folder = "runs",
                       .setting = {"Heartbeat", protocol, "class_token", formulation},
                       .seed = seed,
                       .status = "finished",
                       .accuracy = 70.0 + static_cast<double>(seed),
                       .recipe = {{"train.epochs", "100"}, {"odd", "<key>"}}});
      }
    }
  }
  return all;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_GT(count_of(text, part), 0U) << "missing: " << part;
}

TEST(TimeSeriesPage, ShowsTablesFiguresAndRecipe) {
  const auto all = trainings();
  const auto report = timeseries::time_series_report(all);
  const auto page = page_html(report.page);
  for (const char* part : {"12 trainings", "Table 7 of the paper", "Table A7 of the paper", "Table A8 of the paper",
                           "71.00 ± 1.00", "78.54", "mean of 1", "train.epochs", "&lt;key&gt;"}) {
    expect_contains(page, part);
  }
  ASSERT_EQ(report.figures.size(), 1U);
  EXPECT_EQ(report.figures[0].id, "accuracy-Heartbeat");
  ASSERT_EQ(report.figures[0].panels.size(), 2U) << "one for each protocol";
  EXPECT_EQ(report.figures[0].values.rows.size(), 12U);
  expect_contains(report.figures[0].panels[0].title, "protocol paper, class_token");
}

TEST(TimeSeriesPage, SaysWhatIsNotCounted) {
  auto all = trainings();
  all.back().status = "interrupted";
  expect_contains(page_html(timeseries::time_series_report(all).page), "1 more trainings have not ended well");
  for (auto& training : all) training.status = "running";
  EXPECT_THROW(static_cast<void>(timeseries::time_series_report(all)), std::runtime_error);
}

TEST(DotChart, DrawsEveryValueAndTheReference) {
  const auto panel =
      dot_chart({.title = "title",
                 .y_title = "y",
                 .reference_name = "the paper",
                 .groups = {{.name = "a", .values = {1, 2, 3}, .mean = 2, .deviation = 1, .reference = 4},
                            {.name = "b", .values = {2}, .mean = 2}}});
  EXPECT_EQ(count_of(panel.drawing, "<circle"), 4U);
  EXPECT_EQ(count_of(panel.drawing, "series1"), 1U) << "only one group has a reference";
  expect_contains(panel.drawing, "the paper 4");
  expect_contains(panel.summary, "a 2 ± 1. b 2 ± 0. ");
}

TEST(DotChart, StandsOnEqualValues) {
  const auto panel = dot_chart({.title = "", .y_title = "", .reference_name = "", .groups = {{"a", {5, 5}, 5, 0, {}}}});
  EXPECT_EQ(panel.drawing.find("nan"), std::string::npos);
  EXPECT_EQ(count_of(panel.drawing, "<circle"), 2U);
}

}  // namespace
}  // namespace quest::report
