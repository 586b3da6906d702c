#include "train/run/figure_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/testing/temporary_folder.h"

namespace quest::train {
namespace {

using testing::TemporaryFolder;
using testing::text_of;
using Json = nlohmann::ordered_json;

Json figure(const Json& panel) { return {{"id", "a-figure"}, {"title", "T"}, {"caption", ""}, {"panels", {panel}}}; }
Json line(const Json& series) { return {{"title", ""}, {"kind", "line"}, {"series", {series}}}; }
Json heat(const Json& cells) {
  return {{"kind", "heat"}, {"rows", {"a", "b"}}, {"columns", {"x", "y"}}, {"cells", cells}};
}

Json graph(const Json& edges) {
  const Json node = {{"x", 0.5}, {"y", 0.0}, {"kind", "a"}};
  return {{"kind", "graph"}, {"nodes", {node, node}}, {"edges", edges}};
}

std::string refusal(const Json& figure) {
  const TemporaryFolder run;
  try {
    write_figure(run.path(), figure);
  } catch (const std::logic_error& error) {
    EXPECT_FALSE(std::filesystem::exists(run.path() / kFigureFolder)) << "a refused figure left something behind";
    return error.what();
  }
  return "";
}

void expect_refused(const Json& figure, const std::string& part) {
  const auto message = refusal(figure);
  EXPECT_NE(message.find(part), std::string::npos) << "missing: " << part << "\nin: " << message;
}

TEST(FigureFile, IsTheFigureInAFileNamedByItsId) {
  const TemporaryFolder run;
  for (const auto& panel : {line({{"name", "run"}, {"y", {1.0, 2.0}}}), line({{"x", {0.5, 1.5}}, {"y", {1.0, 2.0}}}),
                            Json{{"kind", "bars"}, {"series", {{{"x", {"a", "b"}}, {"y", {1, 2}}}}}},
                            heat({{0.0, 0.5}, {nullptr, 1.0}}), graph(Json::array({Json::array({0, 1})}))}) {
    write_figure(run.path(), figure(panel));
    EXPECT_EQ(Json::parse(text_of(run.path() / "figures/a-figure.json")), figure(panel));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run.path() / "figures"), {}), 1);
}

TEST(FigureFile, WhatIsNotFiniteIsNull) {
  const TemporaryFolder run;
  write_figure(
      run.path(),
      figure(line({{"y", {1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}}})));
  const auto written = Json::parse(text_of(run.path() / "figures/a-figure.json"));
  EXPECT_EQ(written["panels"][0]["series"][0]["y"].dump(), "[1.0,null,null]");
}

TEST(FigureFile, WhatCannotBeWrittenLeavesTheOneBefore) {
  const TemporaryFolder run;
  const auto file = run.path() / "figures/a-figure.json";
  write_figure(run.path(), figure(line({{"y", {1.0}}})));
  const auto written = text_of(file);
  std::filesystem::create_directory(file.string() + ".tmp");
  EXPECT_THROW(write_figure(run.path(), figure(line({{"y", {2.0}}}))), std::runtime_error);
  EXPECT_EQ(text_of(file), written);
}

TEST(FigureFile, AnIdIsAFileName) {
  for (const char* id : {"", "../escape", "a/b", ".hidden", "a b"}) {
    auto named = figure(line({{"y", {1.0}}}));
    named["id"] = id;
    expect_refused(named, "a figure needs an \"id\" of letters, digits, \"-\", \"_\" and \".\"");
  }
  expect_refused({{"panels", Json::array()}}, "an \"id\"");
}

TEST(FigureFile, SaysWhatAFigureLacks) {
  expect_refused({{"id", "x"}}, "a list \"panels\"");
  expect_refused(figure({{"kind", "pie"}}), R"(panels of the kind "line", "bars", "heat" or "graph")");
  expect_refused(figure({{"kind", "line"}}), "a list \"series\"");
  expect_refused(figure(line({{"name", "run"}})), "a list \"y\"");
  expect_refused(figure(line({{"x", {1, 2, 3}}, {"y", {1, 2}}})), "as many \"x\" as \"y\"");
  expect_refused(figure({{"kind", "bars"}, {"series", {{{"y", {1, 2}}}}}}), "one series with \"x\" for its bars");
  expect_refused(figure(heat({{0.0, 0.5}})), "a list of \"cells\" for each of its \"rows\"");
  expect_refused(figure(heat({{0.0, 0.5}, {0.0}})), "a cell for each of its \"columns\"");
  for (const auto& edge : {Json::array({0, 2}), Json::array({0}), Json("0 1")}) {
    expect_refused(figure(graph(Json::array({edge}))), "edges that are two places in \"nodes\"");
  }
}

}  // namespace
}  // namespace quest::train
