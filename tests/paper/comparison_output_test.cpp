// What is printed and written of a comparison.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "paper/comparison.h"
#include "tests/paper/made_up_runs.h"

namespace quest::paper {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kTable = R"(metric = "error"
metric_name = "error, %"
factor = 100
decimals = 1
has_means = true
columns = [
  { title = "mean", match = { model.head = "mean" } },
  { title = "first", match = { model.head = "first" } },
]
rows = [
  { title = "little", match = { data.noise = 0.1 }, numbers = ["1.5", "2.5 ± 0.1"] },
  { title = "much", match = { data.noise = 0.5 }, numbers = ["", "crashed"] },
  { title = "huge", match = { data.noise = 0.9 }, numbers = ["3", "4"] },
]
)";

Run run_with(const std::string& noise, const std::string& head, double error, const std::string& status = "finished") {
  return run_of({{"data.noise", noise}, {"model.head", head}, {"data.protocol", "paper"}}, {{"error", error}}, status);
}

RunList some_runs() {
  return {run_with("0.1", "mean", 0.5),   run_with("0.1", "mean", 0.7),
          run_with("0.1", "first", 0.25), run_with("0.5", "mean", 0.9, "crashed at iteration 3"),
          run_with("0.5", "first", 0.4),  run_with("0.5", "first", 0.9, "crashed at iteration 9")};
}

Comparison compared(const Experiment& experiment, const RunList& runs) {
  return compare(experiment, experiment.items.front(), runs);
}

Texts texts_of(const std::vector<base::Cell>& row) {
  Texts texts;
  for (const auto& cell : row) texts.push_back(cell.text);
  return texts;
}

TEST(ComparisonTable, StandsOursBesideThePapers) {
  const auto experiment = experiment_of(kTable);
  const auto table = table_of(compared(experiment, some_runs()));
  EXPECT_EQ(table.caption, "Table 1: Errors (error, %)");
  Texts columns;
  for (const auto& column : table.columns) columns.push_back(column.title);
  EXPECT_EQ(columns, (Texts{"", "mean", "paper", "first", "paper"}));
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(texts_of(table.rows[0]), (Texts{"little", "60.0 ± 14.1 (2)", "1.5", "25.0 (1)", "2.5 ± 0.1"}));
  EXPECT_EQ(texts_of(table.rows[1]), (Texts{"much", "crashed (1)", "-", "40.0 (1), 1 crashed", "crashed"}));
  EXPECT_EQ(texts_of(table.rows[2]), (Texts{"huge", "-", "3", "-", "4"}));
  EXPECT_EQ(texts_of(table.rows[3]), (Texts{"mean of 1", "60.0", "1.5", "25.0", "2.5"}));
  EXPECT_TRUE(table.has_rule_before(3));
  EXPECT_FALSE(table.has_rule_before(2));
  EXPECT_EQ(table.rows[0][1].value, 60.0) << "sorted as a number";
  EXPECT_EQ(table.rows[0][4].value, 2.5);
  EXPECT_FALSE(table.rows[1][1].value);
  EXPECT_FALSE(table.rows[1][4].value);
}

TEST(ComparisonTable, TellsTheSplit) {
  const auto experiment = experiment_of(kTable, "split = 'data.protocol'");
  const auto table = table_of(compared(experiment, some_runs()));
  EXPECT_EQ(table.columns[1].title, "data.protocol");
  EXPECT_EQ(texts_of(table.rows[0])[1], "paper");
  EXPECT_EQ(texts_of(table.rows[2])[1], "-") << "we have nothing there";
  EXPECT_EQ(texts_of(table.rows[3])[1], "paper");
}

HeadlineTexts headline_with(const std::string& line, const RunList& runs, const std::string& head = "") {
  const auto experiment = experiment_of(std::string(kTable) + "headline = " + line + "\n", head);
  return headline(compared(experiment, runs));
}

TEST(Headline, IsOfTwoColumnsOfARow) {
  const auto texts =
      headline_with("{ name = 'little', row = 'little', quest = 'mean', standard = 'first' }", some_runs());
  EXPECT_EQ(texts.name, "little");
  EXPECT_EQ(texts.paper, "1.5 / 2.5") << "without the spread";
  EXPECT_EQ(texts.ours, "60.0 / 25.0");
}

TEST(Headline, IsOfTwoRowsOfAColumn) {
  const auto line = "{ name = 'first', column = 'first', quest = 'little', standard = 'much' }";
  EXPECT_EQ(headline_with(line, some_runs()).paper, "2.5 / crashed");
  EXPECT_EQ(headline_with(line, some_runs()).ours, "25.0 / 40.0");
  EXPECT_EQ(headline_with(line, {}).ours, "");
  EXPECT_EQ(headline_with(line, some_runs(), "split = 'data.protocol'").ours, "25.0 / 40.0");
}

TEST(Headline, SaysWhatIsMissingOrCrashed) {
  EXPECT_EQ(headline_with("{ name = 'n', row = 'much', quest = 'mean', standard = 'first' }", some_runs()).ours,
            "crashed / 40.0");
  EXPECT_EQ(headline_with("{ name = 'n', row = 'much', quest = 'mean', standard = 'first' }", some_runs()).paper,
            "- / crashed");
  EXPECT_EQ(headline_with("{ name = 'n', row = 'little', quest = 'mean' }", some_runs()).ours, "60.0 / -");
}

TEST(Headline, OfTheMeansSaysOverHowManyRowsTheyAre) {
  const auto line = "{ name = 'mean', quest = 'mean', standard = 'first' }";
  const auto some = headline_with(line, some_runs());
  EXPECT_EQ(some.paper, "2.2 / 3.2") << "of the two rows for which the paper has all columns";
  EXPECT_EQ(some.ours, "60.0 / 25.0 on 1 of 2; there the paper has 1.5 / 2.5");
  auto all = some_runs();
  all.push_back(run_with("0.9", "mean", 0.2));
  all.push_back(run_with("0.9", "first", 0.1));
  EXPECT_EQ(headline_with(line, all).ours, "40.0 / 17.5");
  EXPECT_EQ(headline_with(line, {}).ours, "");
}

TEST(Headline, IsEmptyWhereThereIsNone) {
  const auto experiment = experiment_of(kTable);
  const auto texts = headline(compared(experiment, some_runs()));
  EXPECT_EQ(texts.name + texts.paper + texts.ours, "");
}

TEST(ComparisonJson, HoldsEverythingAndNullWhereThereIsNothing) {
  const auto experiment = experiment_of(
      std::string(kTable) + "headline = { name = 'n', row = 'little', quest = 'mean', standard = 'first' }\n");
  const auto json = to_json(compared(experiment, some_runs()));
  EXPECT_EQ(json["label"], "Table 1");
  EXPECT_EQ(json["shows"], "Errors");
  EXPECT_EQ(json["state"], "full size");
  EXPECT_EQ(json["metric"], "error, %");
  EXPECT_TRUE(json["split"].is_null());
  EXPECT_EQ(json["headline"].dump(), R"({"name":"n","paper":"1.5 / 2.5","ours":"60.0 / 25.0"})");
  ASSERT_EQ(json["rows"].size(), 3U);
  const auto& little = json["rows"][0];
  EXPECT_EQ(little["title"], "little");
  EXPECT_TRUE(little["split"].is_null());
  EXPECT_EQ(little["cells"][1].dump(), R"({"column":"first","paper":{"text":"2.5 ± 0.1","value":2.5,"spread":0.1},)"
                                       R"("ours":{"mean":25.0,"deviation":0.0,"values":[25.0]},"crashed":0})");
  EXPECT_EQ(json["rows"][1]["cells"][0].dump(), R"({"column":"mean","paper":null,"ours":null,"crashed":1})");
  EXPECT_EQ(json["rows"][1]["cells"][1]["paper"].dump(), R"({"text":"crashed","value":null,"spread":null})");
  ASSERT_EQ(json["means"].size(), 1U);
  EXPECT_EQ(json["means"][0]["title"], "mean of 1");
}

TEST(ComparisonJson, OfADrawingIsShort) {
  const auto experiment = experiment_of("");
  EXPECT_EQ(to_json(compared(experiment, {})).dump(),
            R"({"label":"Table 1","shows":"Errors","state":"full size","metric":"","split":null,"rows":[],"means":[],)"
            R"("headline":null})");
}

TEST(ComparisonJson, TellsTheSplit) {
  const auto experiment = experiment_of(kTable, "split = 'data.protocol'");
  const auto json = to_json(compared(experiment, some_runs()));
  EXPECT_EQ(json["split"], "data.protocol");
  EXPECT_EQ(json["rows"][0]["split"], "paper");
  EXPECT_TRUE(json["rows"][2]["split"].is_null());
}

}  // namespace
}  // namespace quest::paper
