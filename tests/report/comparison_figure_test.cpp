#include "report/comparison_figure.h"

#include <gtest/gtest.h>

#include "tests/paper/refusals.h"
#include "tests/report/made_up_experiment.h"

namespace quest::report {
namespace {

using testing::expect_contains;
using Texts = std::vector<std::string>;

std::optional<Figure> figure_of(const paper::Experiment& experiment, const RunList& runs) {
  return comparison_figure(paper::compare(experiment, experiment.items.front(), runs));
}

Texts titles_of(const Figure& figure) {
  Texts titles;
  for (const auto& panel : figure.panels) titles.push_back(panel.title);
  return titles;
}

Texts texts_of(const std::vector<base::Cell>& row) {
  Texts texts;
  for (const auto& cell : row) texts.push_back(cell.text);
  return texts;
}

TEST(ComparisonFigure, HasAPanelForEachRowWithRuns) {
  const RunList runs = {made_up_run("Heartbeat", "mean", 0, 0.7), made_up_run("Heartbeat", "mean", 1, 0.8),
                        made_up_run("Heartbeat", "first", 0, 0.5), made_up_run("Traffic", "first", 0, 0.4)};
  const auto figure = figure_of(made_up_experiment(), runs);
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->id, "table-1");
  EXPECT_EQ(figure->title, "Table 1: Errors");
  EXPECT_EQ(titles_of(*figure), (Texts{"Heartbeat", "Traffic"}));
  EXPECT_EQ(figure->legend.size(), 2U);
  expect_contains(figure->panels[0].drawing,
                  "aria-label=\"mean&#10;mean 75 ± 7.071&#10;2 values&#10;the paper 77.56\"");
  expect_contains(figure->panels[0].drawing, "aria-label=\"first&#10;mean 50 ± 0&#10;1 values&#10;the paper 78.54\"");
  EXPECT_EQ(figure->panels[1].drawing.find("aria-label=\"mean&#10;"), std::string::npos) << "no runs there";
  expect_contains(figure->panels[0].drawing, "accuracy, %");
  Texts columns;
  for (const auto& column : figure->values.columns) columns.push_back(column.title);
  EXPECT_EQ(columns, (Texts{"row", "column", "run", "accuracy, %"}));
  ASSERT_EQ(figure->values.rows.size(), 4U);
  EXPECT_EQ(texts_of(figure->values.rows[1]), (Texts{"Heartbeat", "mean", "2", "80"}));
}

TEST(ComparisonFigure, HasNoReferenceWhereThePaperHasNone) {
  const auto figure = figure_of(made_up_experiment(), {made_up_run("Vowels", "first", 0, 0.7)});
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->panels[0].drawing.find("the paper"), std::string::npos);
}

TEST(ComparisonFigure, TellsCrashesBesideTheValues) {
  RunList runs = {made_up_run("Vowels", "mean", 0, 0.7), made_up_run("Vowels", "mean", 1, 0.7),
                  made_up_run("Traffic", "mean", 0, 0.7)};
  runs[1].status = runs[2].status = "crashed at iteration 3";
  const auto figure = figure_of(made_up_experiment(), runs);
  ASSERT_TRUE(figure);
  EXPECT_EQ(titles_of(*figure), Texts{"Vowels"}) << "no values, no dots";
  expect_contains(figure->panels[0].drawing, "&#10;1 crashed\"");
}

TEST(ComparisonFigure, ValuesOfTheSplitStandApart) {
  auto runs = made_up_runs().runs;
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].settings["data.protocol"] = i % 3 == 0 ? "paper" : "holdout";
  const auto figure = figure_of(made_up_experiment("split = 'data.protocol'"), runs);
  ASSERT_TRUE(figure);
  EXPECT_EQ(titles_of(*figure), (Texts{"Heartbeat, paper", "Heartbeat, holdout", "Vowels, paper", "Vowels, holdout",
                                       "Traffic, paper", "Traffic, holdout"}));
  EXPECT_EQ(figure->values.columns[1].title, "data.protocol");
  EXPECT_EQ(texts_of(figure->values.rows[0])[1], "paper");
}

TEST(ComparisonFigure, MetricsOfColumnsHaveAnAxisEach) {
  const auto experiment = paper::experiment_of(R"(
columns = [
  { title = "accuracy", match = {}, metric = "accuracy", factor = 100 },
  { title = "ece", match = {}, metric = "calibration:ece" },
]
rows = [{ title = "mean", match = { model.head = "mean" } }, { title = "first", match = { model.head = "first" } }]
)");
  RunList runs = {made_up_run("Vowels", "mean", 0, 0.7), made_up_run("Vowels", "first", 0, 0.6)};
  for (auto& run : runs) run.evaluations["calibration"]["ece"] = 0.03;
  const auto figure = figure_of(experiment, runs);
  ASSERT_TRUE(figure);
  EXPECT_EQ(titles_of(*figure), (Texts{"accuracy", "ece"}));
  expect_contains(figure->panels[0].drawing, "aria-label=\"first&#10;mean 60 ± 0");
  expect_contains(figure->panels[1].drawing, "aria-label=\"mean&#10;mean 0.03 ± 0");
}

TEST(ComparisonFigure, OfNoRunsIsNone) {
  EXPECT_FALSE(figure_of(made_up_experiment(), {}));
  EXPECT_FALSE(figure_of(paper::experiment_of(""), made_up_runs().runs));
}

}  // namespace
}  // namespace quest::report
