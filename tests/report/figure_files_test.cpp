// figures/*.json of runs, read and drawn; a broken file is named and left out.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "report/charts/palette.h"
#include "report/file_figures.h"
#include "tests/paper/refusals.h"
#include "tests/testing/temporary_folder.h"

namespace quest::report {
namespace {

using testing::expect_contains;
using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

FigureFiles files_of(const std::vector<std::pair<std::string, std::string>>& files) {
  const testing::TemporaryFolder run;
  std::filesystem::create_directories(run.path() / "figures");
  for (const auto& [name, text] : files) std::ofstream(run.path() / "figures" / name) << text;
  return read_figures(run.path());
}

std::string figure_with(const std::string& panels) {
  return R"({"id": "f", "title": "T", "caption": "C", "panels": [)" + panels + "]}";
}

FigureFile figure_of(const std::string& panels) {
  const auto files = files_of({{"f.json", figure_with(panels)}});
  EXPECT_EQ(files.problems, Texts{});
  return files.figures.empty() ? FigureFile{} : files.figures.front();
}

constexpr const char* kLines =
    R"({"kind": "line", "title": "left", "x_title": "confidence", "y_title": "accuracy", "series": [
      {"name": "this run", "x": [0.25, 0.75], "y": [0.5, null]}, {"name": "perfect", "x": [0, 1], "y": [0, 1]}]})";
constexpr const char* kBars =
    R"({"kind": "bars", "x_title": "corruption", "y_title": "accuracy", "series": [{"name": "ours", "x": ["fog", 2], "y": [0.5, null]}]})";
constexpr const char* kHeat =
    R"({"kind": "heat", "x_title": "given", "y_title": "true", "rows": ["a", "<b>"], "columns": [1, 2, 3], "cells": [[0, 0.5, 1], [null, 0, 0]]})";
constexpr const char* kGraph =
    R"({"kind": "graph", "title": "g", "edges": [[0, 1], [1, 1]], "nodes": [
      {"x": 0, "y": 1, "kind": "class 1", "wrong": true, "text": "<first>"}, {"x": 0.5, "y": 0.25, "kind": "class 0"}]})";

TEST(FigureFiles, HoldGraphs) {
  const auto figure = figure_of(kGraph);
  ASSERT_EQ(figure.panels.size(), 1U);
  const auto& graph = std::get<FileGraph>(figure.panels[0].content);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].kind, "class 1");
  EXPECT_TRUE(graph.nodes[0].is_wrong);
  EXPECT_FALSE(graph.nodes[1].is_wrong);
  EXPECT_EQ(graph.nodes[1].y, 0.25);
  EXPECT_EQ(graph.edges[1], (std::pair<std::size_t, std::size_t>(1, 1)));
  const std::vector<FigureFile> files = {figure};
  const std::vector<RunFigures> runs = {{.run = "run", .figures = files}};
  const auto figures = file_figures(runs);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].legend.size(), 2U);
  EXPECT_EQ(figures[0].panels[0].summary, "2 nodes, 2 edges, 1 nodes taken for another class.");
  const auto html = figure_html(figures[0]);
  EXPECT_NE(html.find("&lt;first&gt;"), std::string::npos);
  EXPECT_EQ(html.find("<first>"), std::string::npos);
}

TEST(FigureFiles, HoldLinesBarsAndHeat) {
  const auto figure = figure_of(std::string(kLines) + "," + kBars + "," + kHeat);
  EXPECT_EQ(figure.id, "f");
  EXPECT_EQ(figure.title, "T");
  EXPECT_EQ(figure.caption, "C");
  ASSERT_EQ(figure.panels.size(), 3U);
  EXPECT_EQ(figure.panels[0].title, "left");
  const auto& lines = std::get<FileLines>(figure.panels[0].content);
  EXPECT_EQ(lines.series[0].x, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(lines.series[0].y[0], 0.5);
  EXPECT_FALSE(lines.series[0].y[1]);
  const auto& bars = std::get<FileBars>(figure.panels[1].content);
  EXPECT_EQ(bars.names, (Texts{"fog", "2"}));
  EXPECT_FALSE(bars.values[1]);
  const auto& heat = std::get<FileHeat>(figure.panels[2].content);
  EXPECT_EQ(heat.columns, (Texts{"1", "2", "3"}));
  EXPECT_EQ(heat.cells[0][2], 1.0);
  EXPECT_FALSE(heat.cells[1][0]);
}

TEST(FigureFiles, LeaveOutWhatHasADefault) {
  const auto files =
      files_of({{"f.json", R"({"id": "f", "panels": [{"kind": "line", "series": [{"y": [3, 4, 5]}]}]})"}});
  ASSERT_EQ(files.figures.size(), 1U);
  EXPECT_EQ(files.figures[0].title, "f");
  EXPECT_EQ(std::get<FileLines>(files.figures[0].panels[0].content).series[0].x, (std::vector<double>{1, 2, 3}));
}

struct BrokenFigure {
  const char* panel;
  const char* message;
};

class BrokenFigures : public ::testing::TestWithParam<BrokenFigure> {};

TEST_P(BrokenFigures, AreNamedAndTheOthersRead) {
  const auto files = files_of({{"f.json", figure_with(GetParam().panel)},
                               {"whole.json", R"({"id": "whole", "panels": [)" + std::string(kBars) + "]}"}});
  ASSERT_EQ(files.problems.size(), 1U);
  expect_contains(files.problems[0], "figures/f.json\" was expected to be a figure and is not: ");
  expect_contains(files.problems[0], GetParam().message);
  ASSERT_EQ(files.figures.size(), 1U);
  EXPECT_EQ(files.figures[0].id, "whole");
}

INSTANTIATE_TEST_SUITE_P(
    Panels, BrokenFigures,
    ::testing::Values(
        BrokenFigure{"", "it: \"panels\" was expected to be a list with entries"},
        BrokenFigure{"3", "panel 1 was expected to have \"kind\""},
        BrokenFigure{R"({"kind": "pie"})",
                     R"(panel 1: "kind" was expected to be "line", "bars", "heat" or "graph", got "pie")"},
        BrokenFigure{R"({"kind": 3})", "got 3"},
        BrokenFigure{R"({"kind": "line", "title": 3})", "panel 1: \"title\" was expected to be a text"},
        BrokenFigure{R"({"kind": "line"})", "panel 1 was expected to have \"series\""},
        BrokenFigure{R"({"kind": "line", "series": [{}]})", "panel 1, series 1 was expected to have \"y\""},
        BrokenFigure{R"({"kind": "line", "series": [{"y": []}]})", "\"y\" was expected to be a list with entries"},
        BrokenFigure{R"({"kind": "line", "series": [{"y": ["a"]}]})", "\"y\" was expected to hold numbers or null"},
        BrokenFigure{R"({"kind": "line", "series": [{"y": [1, 2], "x": [1]}]})",
                     "\"x\" was expected to have 2 entries, got 1"},
        BrokenFigure{R"({"kind": "line", "series": [{"y": [1, 2], "x": [1, 1]}]})",
                     "\"x\" was expected to grow from entry to entry"},
        BrokenFigure{R"({"kind": "line", "series": [{"y": [1, 2], "x": [1, null]}]})", "was expected to grow"},
        BrokenFigure{R"({"kind": "line", "series": [{"y": [1]}, {"y": [2]}]})", "panel 1 has two series named \"\""},
        BrokenFigure{R"({"kind": "bars", "series": [{"x": ["a"], "y": [1]}, {"x": ["a"], "y": [1]}]})",
                     "\"series\" was expected to have 1 entries, got 2"},
        BrokenFigure{R"({"kind": "bars", "series": [{"x": ["a", "b"], "y": [1]}]})",
                     "\"y\" was expected to have 2 entries, got 1"},
        BrokenFigure{R"({"kind": "bars", "series": [{"x": ["a", "a"], "y": [1, 2]}]})",
                     "\"x\" was expected to name every bar differently"},
        BrokenFigure{R"({"kind": "bars", "series": [{"x": [null], "y": [1]}]})",
                     "\"x\" was expected to hold texts or numbers"},
        BrokenFigure{R"({"kind": "heat", "rows": ["a"], "columns": ["b"], "cells": [[1], [1]]})",
                     "\"cells\" was expected to have 1 entries, got 2"},
        BrokenFigure{R"({"kind": "heat", "rows": ["a"], "columns": ["b"], "cells": [[1, 1]]})",
                     "panel 1, row 1 was expected to have 1 entries, got 2"},
        BrokenFigure{R"({"kind": "heat", "rows": ["a"], "columns": ["b"], "cells": [[1.5]]})",
                     "row 1 was expected to hold numbers from 0 to 1"},
        BrokenFigure{R"({"kind": "graph", "nodes": [{"x": 2, "y": 0}]})",
                     R"(panel 1, node 1: "x" was expected to be a number from 0 to 1, got 2)"},
        BrokenFigure{R"({"kind": "graph", "nodes": [{"x": 0, "y": 0}], "edges": [[0, 1]]})",
                     "panel 1, edge 1 was expected to hold numbers of nodes, from 0 to 0, got 1"},
        BrokenFigure{R"({"kind": "graph", "nodes": [{"x": 0, "y": 0}], "edges": [[0]]})",
                     "panel 1, edge 1 was expected to have 2 entries, got 1"},
        BrokenFigure{R"({"kind": "heat", "rows": ["a"], "columns": ["b"], "cells": [3]})",
                     "row 1 was expected to be a list"}));

TEST(FigureFiles, TooLargeForAPageAreRefused) {
  const auto list_of = [](int count) { return Json(std::vector<double>(static_cast<std::size_t>(count), 0.5)); };
  const auto problem_of = [](const Json& panel) {
    const auto files = files_of({{"f.json", figure_with(panel.dump())}});
    return files.problems.empty() ? "" : files.problems.front();
  };
  EXPECT_EQ(problem_of({{"kind", "line"}, {"series", {{{"y", list_of(4096)}}}}}), "");
  expect_contains(problem_of({{"kind", "line"}, {"series", {{{"y", list_of(4097)}}}}}),
                  "\"y\" has 4097 entries, and a page has room for 4096; write fewer");
  Json names = Json::array();
  Json cells = Json::array();
  for (int i = 0; i < 65; ++i) {
    names.push_back(i);
    cells.push_back(list_of(65));
  }
  expect_contains(problem_of({{"kind", "heat"}, {"rows", names}, {"columns", names}, {"cells", cells}}),
                  "panel 1 has 4225 cells, and a page has room for 4096");
  Json series = Json::array();
  for (int i = 0; i <= static_cast<int>(kSeriesColors); ++i) {
    series.push_back({{"name", "line " + std::to_string(i)}, {"y", {1, 2}}});
  }
  expect_contains(problem_of({{"kind", "line"}, {"series", series}}), "write several figures, or bars or heat");
}

TEST(FigureFiles, AreCalledWhatTheySay) {
  const std::string panels = "\"panels\": [" + std::string(kBars) + "]}";
  for (const auto& [name, text, message] : std::vector<std::array<std::string, 3>>{
           {"g.json", R"({"id": "f", )" + panels, "\"id\" was expected to be the file's name, got \"f\""},
           {"a b.json", R"({"id": "a b", )" + panels, "its name was expected to be of letters, digits"},
           {"f.json", "[1]", "it holds no object"},
           {"f.json", R"({"id": 3, )" + panels, "it: \"id\" was expected to be a text"}}) {
    const auto files = files_of({{name, text}});
    EXPECT_TRUE(files.figures.empty());
    ASSERT_EQ(files.problems.size(), 1U);
    expect_contains(files.problems[0], name);
    expect_contains(files.problems[0], message);
  }
}

Texts names_of(const std::vector<LegendEntry>& legend) {
  Texts names;
  for (const auto& entry : legend) names.push_back(entry.name);
  return names;
}

std::vector<Figure> drawn(const std::vector<std::pair<std::string, std::vector<FigureFile>>>& runs) {
  std::vector<RunFigures> of_runs;
  for (const auto& [name, figures] : runs) of_runs.push_back({name, figures});
  return file_figures(of_runs);
}

TEST(FileFigures, OfOneRunAreDrawnAsTheyAre) {
  const auto figures = drawn({{"quest", {figure_of(std::string(kLines) + "," + kBars + "," + kHeat)}}});
  ASSERT_EQ(figures.size(), 1U);
  const auto& figure = figures.front();
  EXPECT_EQ(figure.id, "figure-f");
  EXPECT_EQ(figure.title, "T");
  EXPECT_EQ(figure.caption, "C");
  EXPECT_EQ(names_of(figure.legend), (Texts{"this run", "perfect", "ours"}));
  ASSERT_EQ(figure.panels.size(), 3U);
  EXPECT_EQ(figure.values.rows.size(), 2U + 2U + 2U + 6U);
  expect_contains(figure_html(figure), "true &lt;b&gt;&#10;given 1&#10;–");
  EXPECT_EQ(figure_svg(figure).find("<b>"), std::string::npos);
  EXPECT_EQ(figure_svg(figure).find("nan"), std::string::npos);
}

TEST(FileFigures, OfOneLineNeedNoLegend) { EXPECT_TRUE(drawn({{"quest", {figure_of(kBars)}}}).front().legend.empty()); }

TEST(FileFigures, RunsShareTheirPanels) {
  auto other = figure_of(kLines);
  std::get<FileLines>(other.panels[0].content).series[0].y = {0.25, 0.75};
  const auto figures = drawn({{"quest", {figure_of(kLines)}}, {"standard", {other}}});
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].panels.size(), 1U);
  EXPECT_EQ(names_of(figures[0].legend), (Texts{"quest", "standard", "perfect"}))
      << "a line is called after its run, what all draw alike comes once";
  EXPECT_EQ(figures[0].values.rows.size(), 6U);
}

TEST(FileFigures, ColoursStayThoseOfTheRuns) {
  const auto figures = drawn({{"quest", {}}, {"standard", {figure_of(kBars)}}});
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(names_of(figures[0].legend), (Texts{"quest", "standard"}));
  expect_contains(figures[0].panels[0].drawing, "series1");
  EXPECT_EQ(figures[0].panels[0].drawing.find("series0"), std::string::npos);
}

TEST(FileFigures, BarsOfRunsStandInTheSameRows) {
  auto other = figure_of(kBars);
  auto& bars = std::get<FileBars>(other.panels[0].content);
  bars.names = {"2", "snow"};
  bars.values = {0.75, 0.25};
  const auto figures = drawn({{"quest", {figure_of(kBars)}}, {"standard", {other}}});
  const auto& drawing = figures.front().panels.front().drawing;
  for (const char* label :
       {"corruption fog&#10;quest: 0.5", "corruption fog&#10;standard: –", "corruption 2&#10;quest: –",
        "corruption 2&#10;standard: 0.75", "corruption snow&#10;standard: 0.25"}) {
    expect_contains(drawing, label);
  }
}

TEST(FileFigures, HeatOfEachRunIsAPanel) {
  const auto figures = drawn({{"quest", {figure_of(kHeat)}}, {"standard", {figure_of(kHeat)}}});
  ASSERT_EQ(figures[0].panels.size(), 2U);
  EXPECT_EQ(figures[0].panels[0].title, "quest");
  EXPECT_EQ(figures[0].panels[1].title, "standard");
}

TEST(FileFigures, PanelsThatShowSomethingElseStandApart) {
  auto other = figure_of(kLines);
  other.panels[0].y_title = "loss";
  EXPECT_EQ(drawn({{"quest", {figure_of(kLines)}}, {"standard", {other}}})[0].panels.size(), 2U);
  auto second = figure_of(kBars);
  second.id = "a";
  const auto figures = drawn({{"quest", {figure_of(kLines)}}, {"standard", {second}}});
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].id, "figure-a") << "by id";
  EXPECT_EQ(figures[1].id, "figure-f");
}

TEST(FileFigures, WithMoreLinesThanColoursHaveAFigureEach) {
  Json series = Json::array();
  for (int i = 0; i < 4; ++i) series.push_back({{"name", "line " + std::to_string(i)}, {"y", {i, 2}}});
  const Json panel = {{"kind", "line"}, {"series", series}};
  Json other = panel;
  for (auto& line : other["series"]) line["y"] = {9, 9};
  const auto figures = drawn({{"quest", {figure_of(panel.dump())}}, {"standard", {figure_of(other.dump())}}});
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].id, "figure-f-run1");
  EXPECT_EQ(figures[1].id, "figure-f-run2");
  EXPECT_EQ(figures[1].title, "T: standard");
  EXPECT_EQ(figures[1].legend.size(), 4U);
}

TEST(FileFigures, OfNoFilesAreNone) {
  EXPECT_TRUE(drawn({}).empty());
  EXPECT_TRUE(drawn({{"quest", {}}}).empty());
}

}  // namespace
}  // namespace quest::report
