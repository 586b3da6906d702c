#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/quartiles.h"
#include "report/charts/bar_chart.h"
#include "report/charts/dot_chart.h"
#include "report/charts/figure.h"
#include "report/charts/heat_map.h"
#include "report/charts/histogram.h"
#include "report/charts/line_chart.h"
#include "report/charts/plot_frame.h"
#include "report/charts/scale.h"
#include "report/charts/table.h"
#include "report/charts/text_fit.h"
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
  const auto panel =
      line_chart(chart_of({base::Quartiles{0, 0, 0}, base::Quartiles{5, 5, 5}, base::Quartiles{10, 10, 10}}));
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

TEST(LineChart, SeriesMayLieAtPlacesOfTheirOwn) {
  const base::Quartiles low{0, 0, 0};
  const base::Quartiles high{10, 10, 10};
  auto chart = chart_of({low, high});
  chart.x_title = "confidence";
  chart.series[0].x = {0.1, 0.9};
  chart.series.push_back({.name = "others", .color = 2, .points = {high, low, high}, .x = {0.1, 0.5, 0.9}});
  const auto panel = line_chart(chart);
  expect_contains(panel.drawing, "d=\"M60 176L310 30\"");
  expect_contains(panel.drawing, "d=\"M60 30L185 176L310 30\"");
  EXPECT_EQ(count(panel.drawing, "class=\"mark"), 3) << "places that two series share come once";
  expect_contains(panel.drawing, "aria-label=\"confidence 0.5&#10;keys: –&#10;others: 0\"");
  EXPECT_EQ(panel.summary, "keys from 0 to 10. others from 10 to 10. ");
}

TEST(LineChart, APointWithoutNeighboursIsADot) {
  const base::Quartiles point{5, 5, 5};
  EXPECT_EQ(count(line_chart(chart_of({point, std::nullopt, point, point})).drawing, "<circle"), 1);
  EXPECT_EQ(count(line_chart(chart_of({point, point})).drawing, "<circle"), 0);
  expect_contains(line_chart(chart_of({point})).drawing, "<circle cx=\"60\" cy=\"103\"");
}

TEST(BarChart, BarsStartAtZeroOnBothSides) {
  const auto panel = bar_chart({.title = "t",
                                .row_title = "corruption",
                                .value_title = "change",
                                .names = {"fog", "<snow>"},
                                .series = {{.name = "quest", .color = 3, .values = {-1.0, 1.0}}}});
  // Names get 36 of 320 points, values 44: 0 lies in the middle of what is left.
  expect_contains(panel.drawing, "<rect x=\"64\" y=\"32\" width=\"106\" height=\"16\" class=\"bar\">");
  expect_contains(panel.drawing, "<rect x=\"170\" y=\"52\" width=\"106\" height=\"16\" class=\"bar\">");
  expect_contains(panel.drawing, "mark series3\" role=\"img\" aria-label=\"corruption fog&#10;change -1\"");
  expect_contains(panel.drawing, "corruption &lt;snow&gt;");
  EXPECT_EQ(panel.summary, "from -1 (fog) to 1 (<snow>). ");
}

TEST(BarChart, SeriesShareTheRows) {
  const BarChart chart{.title = "t",
                       .row_title = "corruption",
                       .value_title = "accuracy",
                       .names = {"fog", "snow"},
                       .series = {{"quest", 0, {0.5, std::nullopt}}, {"standard", 1, {0.25, std::nullopt}}}};
  const auto panel = bar_chart(chart);
  EXPECT_EQ(count(panel.drawing, "class=\"mark"), 4);
  EXPECT_EQ(count(panel.drawing, "class=\"bar\""), 2);
  expect_contains(panel.drawing, "aria-label=\"corruption fog&#10;standard: 0.25\"");
  expect_contains(panel.drawing, "aria-label=\"corruption snow&#10;quest: –\"");
  EXPECT_EQ(
      bar_chart({.title = "", .row_title = "", .value_title = "", .names = {"a"}, .series = {{"", 0, {{}}}}}).summary,
      "No values.");
}

TEST(BarChart, StaysOnAScreenWithManyBars) {
  BarChart chart{.title = "t", .row_title = "bin", .value_title = "count", .series = {{"", 0, {}}}};
  for (int i = 0; i < 80; ++i) {
    chart.names.push_back("bin " + std::to_string(i));
    chart.series[0].values.emplace_back(i);
  }
  const auto panel = bar_chart(chart);
  EXPECT_LT(panel.height, 520.0);
  EXPECT_EQ(count(panel.drawing, "class=\"mark"), 80);
  EXPECT_LT(count(panel.drawing, ">bin "), 60) << "labels that would lie on each other are left out";
}

TEST(HeatMap, LeavesOutNumbersAndLabelsWithoutRoom) {
  HeatMap map{.title = "t", .row_title = "row", .column_title = "column", .empty_note = "none"};
  for (int i = 0; i < 60; ++i) {
    map.rows.push_back("class " + std::to_string(i));
    map.columns.push_back("class " + std::to_string(i));
    map.cells.emplace_back(60, i == 0 ? std::nullopt : std::optional(0.25));
  }
  const auto panel = heat_map(map);
  EXPECT_EQ(count(panel.drawing, "class=\"mark"), 3600);
  EXPECT_EQ(count(panel.drawing, ">25<"), 0);
  EXPECT_LT(count(panel.drawing, ">class "), 40);
  EXPECT_LT(panel.height, 420.0);
  expect_contains(panel.drawing, "row class 0&#10;column class 3&#10;none");
}

TEST(DotChart, TellsNotesBesideTheValues) {
  const auto panel = dot_chart({.title = "t",
                                .y_title = "accuracy",
                                .reference_name = "the paper",
                                .groups = {{.name = "quest",
                                            .values = {70.0, 72.0},
                                            .mean = 71.0,
                                            .deviation = 1.5,
                                            .reference = 73.5,
                                            .note = "1 crashed"}}});
  expect_contains(panel.drawing, "quest&#10;mean 71 ± 1.5&#10;2 values&#10;the paper 73.5&#10;1 crashed\"");
  EXPECT_EQ(count(panel.drawing, "<circle"), 2);
}

TEST(DotChart, DrawsEveryValueAndTheReference) {
  const auto panel =
      dot_chart({.title = "title",
                 .y_title = "y",
                 .reference_name = "the paper",
                 .groups = {{.name = "a", .values = {1, 2, 3}, .mean = 2, .deviation = 1, .reference = 4},
                            {.name = "b", .values = {2}, .mean = 2}}});
  EXPECT_EQ(count(panel.drawing, "<circle"), 4);
  EXPECT_EQ(count(panel.drawing, "series1"), 1) << "only one group has a reference";
  expect_contains(panel.drawing, "the paper 4");
  expect_contains(panel.summary, "a 2 ± 1. b 2 ± 0. ");
}

TEST(DotChart, StandsOnEqualValues) {
  const auto panel = dot_chart({.title = "", .y_title = "", .reference_name = "", .groups = {{"a", {5, 5}, 5, 0, {}}}});
  EXPECT_EQ(panel.drawing.find("nan"), std::string::npos);
  EXPECT_EQ(count(panel.drawing, "<circle"), 2);
}

TEST(PlotFrame, LongNamesTakeTurnsInTwoLines) {
  const Axis y{.title = "y", .range = {0.0, 1.0}};
  const auto frame = [&](std::vector<std::string> names) {
    return PlotFrame("t", {.title = "", .range = {-0.5, static_cast<double>(names.size()) - 0.5}, .names = names}, y)
        .drawing();
  };
  EXPECT_EQ(count(frame({"standard", "quest"}), "y=\"192\""), 2);
  const auto long_names = frame({"standard", "qknorm_hs", "qknorm_ds", "elliptical", "quest"});
  EXPECT_EQ(count(long_names, "y=\"192\""), 3);
  EXPECT_EQ(count(long_names, "y=\"205\""), 2);
  expect_contains(long_names, ">qknorm_hs<");
  const auto many = frame(std::vector<std::string>(12, "elliptical_quest"));
  expect_contains(many, "…");
}

TEST(TextFit, CutsWhatIsTooWideBetweenLetters) {
  EXPECT_EQ(shortened("långt", text_width("långt")), "långt");
  EXPECT_EQ(shortened("långt", 3.0 * kLetterWidth), "lå…");
  EXPECT_EQ(shortened("långt", 0.0), "l…");
  EXPECT_EQ(shortened("", 0.0), "");
  EXPECT_EQ(text_width(std::vector<std::string>{"a", "åäö", ""}), 3.0 * kLetterWidth);
  EXPECT_EQ(label_stride(10.0, 20.0), 1U);
  EXPECT_EQ(label_stride(21.0, 10.0), 3U);
}

TEST(Table, HeadsItsRowsAndColumns) {
  const auto html = table_html({"A & B", {"name", "size"}, {{"<x>", {"4,500", 4500.0}}, {"y", "–"}}});
  expect_contains(html, "<caption>A &amp; B</caption>");
  expect_contains(html, "<th scope=\"col\" class=\"number\">size</th>");
  expect_contains(html, "<th scope=\"row\" class=\"words\" data-key=\"\">&lt;x&gt;</th>");
  expect_contains(html, "data-key=\"4500\">4,500</td>");
  EXPECT_EQ(count(html, "<tbody>"), 1);
  EXPECT_THROW(static_cast<void>(table_html({"A", {"one"}, {{"1", "2"}}})), std::invalid_argument);
}

TEST(Table, RulesPartGroupsOfRows) {
  base::Table table{.caption = "t", .columns = {"name"}};
  table.add_rule();  // above everything: nothing to part
  table.add_row({"a"});
  table.add_row({"b"});
  table.add_rule();
  table.add_row({"mean"});
  table.add_rule();  // below everything
  const auto html = table_html(table);
  EXPECT_EQ(count(html, "<tbody>"), 2);
  EXPECT_LT(html.find(">b<"), html.find("</tbody><tbody>"));
  EXPECT_GT(html.find(">mean<"), html.find("</tbody><tbody>"));
}

TEST(Table, WhatIsNotFiniteIsNoNumberToSortBy) {
  expect_contains(table_html({"t", {"x"}, {{{"–", NAN}}}}), "data-key=\"\">–</th>");
  EXPECT_FALSE(number_cell(NAN).value);
  EXPECT_EQ(number_cell(NAN).text, "–");
  EXPECT_EQ(number_cell(0.12345).text, "0.1235");
  EXPECT_EQ(count_cell(12345).text, "12,345");
  EXPECT_EQ(count_cell(12345).value, 12345.0);
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
