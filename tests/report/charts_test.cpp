#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "report/charts/figure.h"
#include "report/charts/heat_map.h"
#include "report/charts/histogram.h"
#include "report/charts/line_chart.h"
#include "report/charts/plot_frame.h"
#include "report/charts/scale.h"
#include "base/quartiles.h"
#include "report/charts/table.h"
#include "report/charts/time_map.h"

namespace quest::report {
namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin:\n" << text;
}

TEST(Scale, MapsEndsToEnds) {
  const Scale scale({0.0, 10.0}, {100.0, 0.0});
  EXPECT_DOUBLE_EQ(scale(0.0), 100.0);
  EXPECT_DOUBLE_EQ(scale(2.5), 75.0);
  EXPECT_DOUBLE_EQ(scale(10.0), 0.0);
  EXPECT_DOUBLE_EQ(Scale({3.0, 3.0}, {0.0, 10.0})(3.0), 5.0);
}

TEST(Scale, TicksAreRound) {
  EXPECT_EQ(ticks({0.0, 100.0}, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(ticks({1.0, 50.0}, 5), (std::vector<double>{10, 20, 30, 40, 50}));
  EXPECT_EQ(ticks({0.0, 1.0}, 5).size(), 6U);
  EXPECT_EQ(ticks({2.0, 2.0}, 5), (std::vector<double>{2}));
  const Range range = rounded({0.0, 7.3}, 5);
  EXPECT_DOUBLE_EQ(range.from, 0.0);
  EXPECT_DOUBLE_EQ(range.to, 8.0);
  EXPECT_EQ(tick_decimals({0.0, 0.05}), 2);
  EXPECT_EQ(tick_decimals({0.0, 0.1}), 1);
  EXPECT_EQ(tick_decimals({0.0, 20.0}), 0);
}

TEST(Scale, LogarithmsPutFactorsSideBySide) {
  const Scale scale({0.01, 100.0}, {0.0, 40.0}, Spacing::logarithmic);
  EXPECT_DOUBLE_EQ(scale(0.01), 0.0);
  EXPECT_DOUBLE_EQ(scale(1.0), 20.0);
  EXPECT_DOUBLE_EQ(scale(100.0), 40.0);
  EXPECT_DOUBLE_EQ(scale(0.0), 0.0) << "below every power of ten";
  EXPECT_EQ(logarithmic_ticks({0.02, 200.0}), (std::vector<double>{0.1, 1, 10, 100}));
  EXPECT_EQ(logarithmic_ticks({3.0, 60.0}), (std::vector<double>{5, 10, 20, 50}));
}

TEST(Statistics, QuartilesOfWhatIsFinite) {
  const auto found = base::quartiles(std::vector<double>{4.0, NAN, 1.0, 2.0, 3.0, 5.0, INFINITY});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->low, 2.0);
  EXPECT_DOUBLE_EQ(found->middle, 3.0);
  EXPECT_DOUBLE_EQ(found->high, 4.0);
  EXPECT_DOUBLE_EQ(base::quartiles(std::vector<double>{1.0, 2.0})->middle, 1.5);
  EXPECT_FALSE(base::quartiles(std::vector<double>{NAN}));
  EXPECT_FALSE(base::quartiles(std::vector<double>{}));
}

TEST(Statistics, BinsHoldTheirLowerEdge) {
  EXPECT_EQ(base::bin_counts(std::vector<double>{0.0, 0.04, 0.05, 0.9499, 0.95F, 1.0}, 20).front(), 2);
  EXPECT_EQ(base::bin_counts(std::vector<double>{0.0, 0.04, 0.05, 0.9499, 0.95F, 1.0}, 20).back(), 2);
  EXPECT_EQ(base::bin_counts(std::vector<double>{0.45F, 0.7F}, 20)[9], 1);
  EXPECT_EQ(bin_name(19, 20), "95 to 100 %");
}

TEST(HeatMap, HasACellPerPlace) {
  const auto panel = heat_map({.title = "a < b",
                               .row_title = "rate",
                               .rows = {"1", "2"},
                               .column_title = "decay",
                               .columns = {"x", "y"},
                               .cells = {{0.0, 0.25}, {1.0, std::nullopt}}});
  EXPECT_EQ(count(panel.drawing, "class=\"mark"), 4);
  expect_contains(panel.drawing, "a &lt; b");
  expect_contains(panel.drawing, "aria-label=\"rate 1&#10;decay y&#10;25\u00a0%\"");
  expect_contains(panel.drawing, "aria-label=\"rate 2&#10;decay y&#10;not trained\"");
  expect_contains(panel.drawing, "mark heat20");
  EXPECT_EQ(panel.summary, "From 0\u00a0% to 100\u00a0% over rate and decay.");
}

LineChart chart_of(std::vector<std::optional<base::Quartiles>> points) {
  return {.title = "norms",
          .x_title = "epoch",
          .y_title = "norm",
          .empty_note = "no training failed",
          .y = {0.0, 10.0},
          .series = {{.name = "keys", .color = 1, .points = std::move(points)}}};
}

TEST(LineChart, LinesStayInsideTheFrame) {
  const auto panel = line_chart(chart_of({base::Quartiles{0, 0, 0}, base::Quartiles{5, 5, 5}, base::Quartiles{10, 10, 10}}));
  expect_contains(panel.drawing, "d=\"M60 176L185 103L310 30\"");
  expect_contains(panel.drawing, "aria-label=\"epoch 2&#10;keys: 5\"");
  EXPECT_EQ(count(panel.drawing, "class=\"mark"), 3);
}

TEST(LineChart, AMissingPointIsAGap) {
  const base::Quartiles point{1, 2, 3};
  const auto panel = line_chart(chart_of({point, std::nullopt, point, point}));
  EXPECT_EQ(count(panel.drawing, "class=\"line\""), 2);
  expect_contains(panel.drawing, "epoch 2&#10;keys: –");
}

TEST(LineChart, NothingToDrawIsSaid) {
  const auto panel = line_chart(chart_of({}));
  expect_contains(panel.drawing, "no training failed");
  EXPECT_EQ(panel.summary, "no training failed.");
  EXPECT_EQ(range_from_zero(chart_of({}).series).to, 1.0);
  EXPECT_EQ(range_from_zero(chart_of({base::Quartiles{1, 2, 3.3}}).series).to, 4.0);
}

TEST(LineChart, PointsLieAtTheirSteps) {
  auto chart = chart_of({base::Quartiles{1, 2, 3}, base::Quartiles{4, 4, 4}, base::Quartiles{5, 5, 5}});
  chart.steps = {100, 200, 400};
  const auto panel = line_chart(chart);
  expect_contains(panel.drawing, "d=\"M60 146.8L143.33 117.6L310 103\"");
  expect_contains(panel.drawing, "aria-label=\"epoch 100&#10;keys: 2 (1 to 3)\"");
  expect_contains(panel.drawing, "aria-label=\"epoch 400&#10;keys: 5\"");
}

TEST(LineChart, FarValuesGetALogarithmicAxis) {
  auto chart = chart_of({base::Quartiles{1, 1, 1}, base::Quartiles{99, 99, 99}});
  fit_y(chart);
  EXPECT_EQ(chart.y_spacing, Spacing::linear);
  chart.series[0].points.emplace_back(base::Quartiles{1e4, 1e4, 1e4});
  fit_y(chart);
  EXPECT_EQ(chart.y_spacing, Spacing::logarithmic);
  expect_contains(line_chart(chart).drawing, "d=\"M60 172.63L185 103.15L310 33.37\"");
  chart = chart_of({base::Quartiles{-3, -2, -1}, base::Quartiles{1, 2, 3}});
  fit_y(chart);
  EXPECT_EQ(chart.y.from, -4.0);
}

TEST(TimeMap, HasACellPerRowAndStep) {
  TimeMap map{
      .title = "run < 1",
      .value_name = "max logit",
      .group_title = "layer",
      .row_title = "head",
      .x_title = "step",
      .steps = {10, 20, 30},
      .rows = {{"0", "0", {1.0, 10.0, 100.0}}, {"0", "1", {1.0, std::nullopt, 1.0}}, {"1", "0", {1.0, 1.0, 1.0}}},
      .colors = {1.0, 100.0},
      .spacing = Spacing::logarithmic};
  const auto panel = time_map(map);
  EXPECT_EQ(count(panel.drawing, "class=\"mark"), 9);
  expect_contains(panel.drawing, "run &lt; 1");
  expect_contains(panel.drawing,
                  "mark heat10\" role=\"img\" aria-label=\"layer 0, head 0&#10;step 20&#10;max logit 10\"");
  expect_contains(panel.drawing, "aria-label=\"layer 0, head 1&#10;step 20&#10;max logit –\"");
  EXPECT_EQ(panel.summary, "The largest max logit is 100, of layer 0 head 0 at step 30.");
}

TEST(Histogram, BarsStandOnTheAxis) {
  const auto panel =
      histogram({.title = "standard", .x_title = "accuracy", .y_title = "trainings", .counts = {0, 10, 5}, .most = 10});
  expect_contains(panel.drawing, "y=\"30\" width=\"82.33\" height=\"146\" class=\"bar\"");
  expect_contains(panel.drawing, "y=\"103\" width=\"82.33\" height=\"73\" class=\"bar\"");
  EXPECT_EQ(panel.summary, "15 trainings; the fullest bin is 33.33 to 66.67 % with 10.");
}

TEST(Table, HeadsItsRowsAndColumns) {
  const auto html = table_html({"A & B", {"name", "size"}, {{"<x>", {"4,500", 4500.0}}, {"y", "–"}}});
  expect_contains(html, "<caption>A &amp; B</caption>");
  expect_contains(html, "<th scope=\"col\" class=\"number\">size</th>");
  expect_contains(html, "<th scope=\"row\" class=\"words\" data-key=\"\">&lt;x&gt;</th>");
  expect_contains(html, "data-key=\"4500\">4,500</td>");
  EXPECT_THROW(static_cast<void>(table_html({"A", {"one"}, {{"1", "2"}}})), std::invalid_argument);
}

TEST(Figure, PanelsStandInColumnsOfTheFile) {
  const Panel panel{.title = "p", .summary = "s", .height = 100.0, .drawing = "<g></g>"};
  const Figure figure{.id = "one",
                      .title = "T",
                      .caption = "C",
                      .legend = {},
                      .panels = {panel, panel, panel, panel},
                      .values = {"v", {"a"}, {}}};
  const auto svg = figure_svg(figure);
  expect_contains(svg, "viewBox=\"0 0 1040 294\"");
  expect_contains(svg, "translate(704 46)");
  expect_contains(svg, "translate(16 170)");
  expect_contains(figure_html(figure), "download=\"one.svg\" href=\"data:image/svg+xml;base64,");
}

}  // namespace
}  // namespace quest::report
