// evaluations/*.json of a run, read and shown; a broken file is named and left out.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/evaluation_table.h"
#include "report/json_folder.h"
#include "tests/paper/refusals.h"
#include "tests/testing/temporary_folder.h"

namespace quest::report {
namespace {

using testing::expect_contains;
using Texts = std::vector<std::string>;

class EvaluationFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(run() / "evaluations");
    std::ofstream(run() / "evaluations" / name) << text;
  }
  [[nodiscard]] const std::filesystem::path& run() const { return folder_.path(); }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(EvaluationFolder, IsReadByName) {
  write("z.json", "1");
  write("a.json", "{\"x\": 2}");
  write("notes.txt", "{");
  write("b.json.tmp", "{");
  Texts names;
  const auto problems =
      read_json_folder(run() / "evaluations", "a number",
                       [&](const std::string& name, const auto& content) { names.push_back(name + content.dump()); });
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(names, (Texts{"a{\"x\":2}", "z1"}));
}

TEST_F(EvaluationFolder, NamesFilesThatAreNotWhatIsExpected) {
  write("a.json", "{");
  write("b.json", "1");
  write("c.json", "2");
  write("d.json", "[]");
  Texts names;
  const auto problems =
      read_json_folder(run() / "evaluations", "a number", [&](const std::string& name, const auto& content) {
        if (content == 1) throw std::invalid_argument("1 is too small");
        static_cast<void>(content.template get<double>());
        names.push_back(name);
      });
  EXPECT_EQ(names, Texts{"c"});
  ASSERT_EQ(problems.size(), 3U);
  const auto begin = [&](const char* name) {
    return "\"" + (run() / "evaluations" / name).string() + "\" was expected to be a number and is not: ";
  };
  EXPECT_TRUE(problems[0].starts_with(begin("a.json"))) << problems[0];
  EXPECT_EQ(problems[1], begin("b.json") + "1 is too small");
  EXPECT_TRUE(problems[2].starts_with(begin("d.json"))) << problems[2];
}

TEST_F(EvaluationFolder, MayBeMissing) {
  EXPECT_TRUE(read_json_folder(run() / "evaluations", "x", [](const auto&, const auto&) { FAIL(); }).empty());
  const auto files = read_evaluations(run());
  EXPECT_TRUE(files.evaluations.empty());
  EXPECT_TRUE(files.problems.empty());
  EXPECT_EQ(files.best(), nullptr);
}

TEST_F(EvaluationFolder, HasTheBestFirst) {
  write("attacks.json", R"({"evaluation": "attacks", "metrics": {"pgd": 0.25}})");
  write("best.json", R"({"evaluation": "best", "step": 7, "metrics": {"loss": null, "accuracy": 0.5}})");
  write("calibration.json", R"({"evaluation": "calibration", "metrics": {}})");
  const auto files = read_evaluations(run());
  EXPECT_TRUE(files.problems.empty());
  Texts names;
  for (const auto& evaluation : files.evaluations) names.push_back(evaluation.name);
  EXPECT_EQ(names, (Texts{"best", "attacks", "calibration"}));
  const auto& best = *files.best();
  EXPECT_EQ(best.facts.dump(), R"({"evaluation":"best","step":7})");
  EXPECT_EQ(best.metrics[0].first, "loss") << "in the order of the file";
  EXPECT_TRUE(std::isnan(*best.find("loss")));
  EXPECT_EQ(*best.find("accuracy"), 0.5);
  EXPECT_EQ(best.find("acuracy"), nullptr);
}

TEST_F(EvaluationFolder, WithBrokenFilesKeepsTheOthers) {
  write("best.json", R"({"metrics": {"accuracy": 0.5}})");
  write("a.json", "[1]");
  write("b.json", R"({"step": 3})");
  write("c.json", R"({"metrics": [1]})");
  write("d.json", R"({"metrics": {"x": "1"}})");
  const auto files = read_evaluations(run());
  EXPECT_EQ(files.evaluations.size(), 1U);
  ASSERT_EQ(files.problems.size(), 4U);
  expect_contains(files.problems[0], "a.json\" was expected to be an evaluation and is not: ");
  expect_contains(files.problems[2],
                  "c.json\" was expected to be an evaluation and is not: \"metrics\" was expected to "
                  "hold a number for each name");
}

TrainingRun run_with(std::vector<EvaluationFile> evaluations) {
  TrainingRun run;
  run.evaluated.evaluations = std::move(evaluations);
  return run;
}

TEST(EvaluationTable, HasARowForEachMetricAndAColumnForEachEvaluation) {
  const auto run = run_with({{.name = "best", .metrics = {{"accuracy", 0.5}, {"loss", NAN}}},
                             {.name = "<attacks>", .metrics = {{"pgd", 0.25}, {"accuracy", 0.125}}}});
  const auto html = evaluation_table(std::vector<NamedRun>{{"quest", &run}});
  expect_contains(html, ">&lt;attacks&gt;</th>");
  for (const char* metric : {">accuracy</th>", ">loss</th>", ">pgd</th>"}) expect_contains(html, metric);
  expect_contains(html, "data-key=\"0.125\">0.125</td>");
  EXPECT_EQ(html.find("quest"), std::string::npos) << "alone it needs no name";
  EXPECT_LT(html.find(">accuracy</th>"), html.find(">pgd</th>"));
}

TEST(EvaluationTable, PutsRunsBelowEachOther) {
  const auto quest = run_with({{.name = "best", .metrics = {{"accuracy", 0.5}}}});
  const auto standard = run_with({{.name = "best", .metrics = {{"accuracy", 0.25}, {"loss", 2.0}}}});
  const auto html = evaluation_table(std::vector<NamedRun>{{"quest", &quest}, {"standard", &standard}});
  expect_contains(html, "data-key=\"0.25\">0.25</td>");
  expect_contains(html, "data-key=\"\">–</td>");
  std::size_t groups = 0;
  for (auto at = html.find("<tbody>"); at != std::string::npos; at = html.find("<tbody>", at + 1)) ++groups;
  EXPECT_EQ(groups, 2U) << "one a metric";
}

TEST(EvaluationTable, IsEmptyWithoutNumbers) {
  const auto run = run_with({{.name = "best"}});
  EXPECT_EQ(evaluation_table(std::vector<NamedRun>{{"quest", &run}}), "");
}

}  // namespace
}  // namespace quest::report
