// What the page of the experiment shows, from made-up runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "domains/domain.h"
#include "domains/toy/findings.h"
#include "domains/toy/norm_figures.h"
#include "domains/toy/outcome_figures.h"
#include "report/charts/figure.h"
#include "report/charts/markup.h"
#include "report/charts/png.h"
#include "tests/domains/toy/synthetic_runs.h"
#include "tests/testing/temporary_folder.h"

namespace quest::toy {

domains::Domain domain();

namespace {

std::vector<report::Figure> figures_of(std::span<const paper::Run> runs) { return domain().figures(runs); }

std::string html_of(std::span<const report::Figure> figures) {
  std::string text;
  for (const auto& figure : figures) text += report::figure_html(figure);
  return text;
}

std::vector<std::string> titles_of(const report::Figure& figure) {
  std::vector<std::string> titles;
  for (const auto& panel : figure.panels) titles.push_back(panel.title);
  return titles;
}

std::vector<std::string> texts_of(const std::vector<base::Cell>& row) {
  std::vector<std::string> texts;
  for (const auto& cell : row) texts.push_back(cell.text);
  return texts;
}

std::vector<std::string> row_of(const report::Figure& figure, std::vector<std::string> head) {
  for (const auto& row : figure.values.rows) {
    const auto texts = texts_of(row);
    if (std::ranges::equal(head, std::span(texts).first(head.size()))) return texts;
  }
  return {};
}

paper::Run run_with(const SyntheticSettings& settings, float accuracy, std::vector<engine::EpochRecord> epochs = {}) {
  return synthetic_run(settings, {std::move(epochs), accuracy, accuracy});
}

TEST(ToyFindings, AreSortedByFormulation) {
  const auto runs = synthetic_runs();
  const auto kinds = kinds_of(runs);
  ASSERT_EQ(kinds.size(), 3U);
  EXPECT_EQ(kinds[0].name, "standard");
  EXPECT_EQ(kinds[1].name, "quest");
  EXPECT_EQ(kinds[2].name, "qnorm");
  for (const auto& kind : kinds) EXPECT_EQ(kind.findings.size(), 48U);
  EXPECT_GT(success_rate(kinds[1].findings), success_rate(kinds[0].findings));
}

TEST(ToyFindings, WiringsAreToldApartWhereThereAreTwo) {
  const std::vector runs = {run_with({.formulation = "quest", .wiring = "pre-norm"}, 1.0F),
                            run_with({.formulation = "quest", .wiring = "algorithm"}, 0.1F)};
  const auto kinds = kinds_of(runs);
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].name, "quest, algorithm");
  EXPECT_EQ(success_rate(kinds[0].findings), 0.0);
  EXPECT_EQ(kinds[1].name, "quest, pre-norm");
  EXPECT_EQ(success_rate(kinds[1].findings), 1.0);
}

TEST(ToyFindings, LeaveOutWhatIsNoFinishedTrainingOfTheTask) {
  const auto fine = run_with({}, 1.0F);
  std::vector runs(8, fine);
  runs[1].task = "image";
  runs[2].evaluations.clear();
  runs[3].evaluations["best"].erase("success");
  runs[4].evaluations["best"].erase("test_accuracy");
  runs[5].settings.erase("optimizer.lr");
  runs[6].settings["data.realization"] = "first";
  runs[7].settings["model.formulation"] = "unheard";
  const auto kinds = kinds_of(runs);
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_EQ(kinds.front().findings.size(), 1U);
}

TEST(ToyFindings, NumbersMayBeWrittenInAnyWay) {
  const std::vector runs = {run_with({.learning_rate = "1e-3", .weight_decay = "0"}, 1.0F),
                            run_with({.learning_rate = "0.001", .weight_decay = "0.0"}, 0.0F)};
  const auto figure = success_figure(kinds_of(runs));
  ASSERT_EQ(figure.values.rows.size(), 1U);
  EXPECT_EQ(texts_of(figure.values.rows.front()), (std::vector<std::string>{"quest", "0.001", "0", "50\u00a0%"}));
}

TEST(ToyFigures, SuccessIsCountedPerCell) {
  const std::vector runs = {
      run_with({.learning_rate = "0.01"}, 1.0F), run_with({.learning_rate = "0.01"}, 0.1F),
      run_with({.learning_rate = "0.001"}, 0.1F),
      run_with({.formulation = "standard", .learning_rate = "0.001", .weight_decay = "0.0"}, 0.1F)};
  const auto figure = success_figure(kinds_of(runs));
  EXPECT_EQ(titles_of(figure), (std::vector<std::string>{"standard, 0\u00a0%", "quest, 33\u00a0%"}));
  EXPECT_EQ(figure.values.rows.size(), 8U);
  EXPECT_EQ(row_of(figure, {"quest", "0.01", "0.1"}).back(), "50\u00a0%");
  EXPECT_EQ(row_of(figure, {"quest", "0.001", "0.1"}).back(), "0\u00a0%");
  EXPECT_EQ(row_of(figure, {"quest", "0.001", "0"}).back(), "–");
}

TEST(ToyFigures, OutcomesAreCountedByFormulationAndDataSet) {
  const std::vector runs = {run_with({.realization = "10"}, 1.0F), run_with({.realization = "10"}, 0.1F),
                            run_with({.realization = "2"}, 1.0F), run_with({.realization = "2"}, 0.85F)};
  auto figure = outcome_figure(kinds_of(runs));
  EXPECT_EQ(row_of(figure, {"quest"}),
            (std::vector<std::string>{"quest", "50\u00a0%", "50 to 50\u00a0%", "2", "0", "1", "1", "4"}));
  EXPECT_EQ(titles_of(figure), std::vector<std::string>{"quest, 50\u00a0%"});
  const auto& drawing = figure.panels.front().drawing;
  ASSERT_NE(drawing.find("data set 10&#10;"), std::string::npos) << drawing;
  EXPECT_LT(drawing.find("data set 2&#10;"), drawing.find("data set 10&#10;")) << "by number";
  figure = outcome_figure(kinds_of(std::span(runs).first(3)));
  EXPECT_EQ(row_of(figure, {"quest"})[2], "50 to 100\u00a0%");
}

TEST(ToyFigures, AccuraciesFallIntoTheirBins) {
  const std::vector runs = {run_with({}, 1.0F), run_with({}, 0.97F), run_with({}, 0.12F)};
  const auto figure = test_accuracy_figure(kinds_of(runs));
  EXPECT_EQ(row_of(figure, {"95 to 100 %"}).back(), "2");
  EXPECT_EQ(row_of(figure, {"10 to 15 %"}).back(), "1");
  EXPECT_EQ(row_of(figure, {"15 to 20 %"}).back(), "0");
}

TEST(ToyFigures, NormsAreMediansOfFailedAndOfSuccessfulTrainings) {
  const auto with_norm = [](float norm) {
    return engine::EpochRecord{.biased_key_norm = norm, .unbiased_key_norm = 2.0F, .other_key_norm = 1.0F};
  };
  const std::vector runs = {
      run_with({}, 0.1F, {with_norm(4.0F), with_norm(6.0F)}), run_with({}, 0.1F, {with_norm(8.0F)}),  // stopped early
      run_with({}, 0.1F, {with_norm(NAN), with_norm(8.0F)}), run_with({}, 1.0F, {with_norm(3.0F), with_norm(5.0F)})};
  const auto figures = norm_figures(kinds_of(runs));
  ASSERT_EQ(figures.size(), 3U);
  EXPECT_EQ(titles_of(figures[0]), std::vector<std::string>{"quest, 3 failed"});
  EXPECT_EQ(titles_of(figures[1]), std::vector<std::string>{"quest, 1 succeeded"});
  EXPECT_EQ(row_of(figures[0], {"quest", "1"}), (std::vector<std::string>{"quest", "1", "6", "2", "1"}));
  EXPECT_EQ(row_of(figures[0], {"quest", "2"}), (std::vector<std::string>{"quest", "2", "7", "2", "1"}));
  EXPECT_EQ(row_of(figures[1], {"quest", "2"}), (std::vector<std::string>{"quest", "2", "5", "2", "1"}));
  EXPECT_EQ(row_of(figures[2], {"quest", "1"}), (std::vector<std::string>{"quest", "1", "3", "1.5"}));
}

TEST(ToyFigures, RunsWithoutSeriesHaveEmptyPanels) {
  auto run = run_with({}, 1.0F);
  run.series = nullptr;
  const auto figures = norm_figures(kinds_of({{run}}));
  EXPECT_EQ(titles_of(figures[1]), std::vector<std::string>{"quest, 1 succeeded"});
  EXPECT_TRUE(figures[1].values.rows.empty());
  EXPECT_NE(figures[0].panels.front().drawing.find("no training failed"), std::string::npos);
}

// Threads finish in any order, so nothing may depend on the order of the lines.
TEST(ToyFigures, DoNotDependOnTheOrderOfTheRuns) {
  auto runs = synthetic_runs();
  const auto page = html_of(figures_of(runs));
  std::ranges::reverse(runs);
  EXPECT_EQ(html_of(figures_of(runs)), page);
}

TEST(ToyFigures, HaveNamesOfTheirOwn) {
  const auto runs = synthetic_runs();
  std::vector<std::string> ids;
  for (const auto& figure : figures_of(runs)) ids.push_back(figure.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"outcomes", "success", "train-accuracy", "test-accuracy", "norms-failed",
                                           "norms-successful", "norm-ratio"}));
}

TEST(ToyFigures, ThereAreNoneOfNoTraining) {
  auto run = run_with({}, 1.0F);
  run.evaluations.clear();
  EXPECT_TRUE(figures_of({}).empty());
  EXPECT_TRUE(figures_of({{run}}).empty());
}

TEST(ToyFigures, CanAllBeDrawn) {
  const testing::TemporaryFolder folder;
  const auto runs = synthetic_runs();
  for (const auto& figure : figures_of(runs)) {
    const auto svg = report::figure_svg(figure);
    EXPECT_TRUE(svg.starts_with("<svg")) << figure.id;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << figure.id;
    EXPECT_EQ(figure.panels.size(), 3U) << figure.id;
    EXPECT_FALSE(figure.values.rows.empty()) << figure.id;
    if (!report::kDrawsPng) continue;
    report::write_png(svg, folder.path() / "figure.png");
    EXPECT_TRUE(testing::text_of(folder.path() / "figure.png").starts_with("\x89PNG")) << figure.id;
  }
}

}  // namespace
}  // namespace quest::toy
