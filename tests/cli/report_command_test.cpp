// `quest report` and `quest paper`, from runs that the program has made.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_quest.h"
#include "tests/testing/temporary_folder.h"

namespace quest::cli {
namespace {

namespace fs = std::filesystem;
using testing::text_of;

class RunFolder : public ::testing::Test {
 protected:
  // Four packed runs.
  RunFolder() {
    const auto outcome = run_quest(
        "paper toy --train --device cpu --jobs 1 --only model.formulation=standard,quest --only data.realization=0 "
        "--only optimizer.lr=0.001 --only optimizer.weight_decay=0.0 --only model.initialization=0,1 "
        "--set data.tokens=5 --set data.samples=20 --set data.test_samples=10 --set train.epochs=2 --runs " +
        runs());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }

  [[nodiscard]] std::string runs() const { return (folder_.path() / "runs").string(); }
  [[nodiscard]] std::string experiment() const { return runs() + "/toy"; }
  [[nodiscard]] nlohmann::json items_of(const std::string& arguments) const {
    const auto file = (folder_.path() / "paper.json").string();
    const auto outcome = run_quest("paper " + arguments + " --runs " + runs() + " --json " + file);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return nlohmann::json::parse(text_of(file))["items"];
  }
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::app) << text;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(RunFolder, BecomesAPageAndFigures) {
  const auto outcome = run_quest("report " + experiment());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.output, experiment() + "/report.html\n");
  EXPECT_NE(text_of(experiment() + "/report.html").find("Success over the grid"), std::string::npos);

  const auto page = (folder_.path() / "new" / "page.html").string();
  const auto figures = (folder_.path() / "figures").string();
  const auto asked = run_quest("report " + experiment() + "/ --out " + page + " --figures " + figures);
  EXPECT_TRUE(fs::exists(page)) << asked.output;
  EXPECT_TRUE(fs::exists(figures + "/success.svg")) << asked.output;
}

TEST_F(RunFolder, MistakesAreNamed) {
  const auto missing = run_quest("report " + runs() + "x");
  EXPECT_EQ(missing.exit_code, 1);
  expect_contains(missing, "runsx/run.json\" was expected to describe a training run and is not there");
  const auto no_run = run_quest("report " + runs() + "/timeseries");
  EXPECT_EQ(no_run.exit_code, 1);
  expect_contains(no_run, "timeseries");
  EXPECT_EQ(run_quest("report").exit_code, 2);
}

TEST_F(RunFolder, ALineThatIsNoRunIsNamedAndLeftOut) {
  write(experiment() + "/runs.jsonl", "{\n");
  const auto shown = run_quest("paper toy --runs " + runs());
  EXPECT_EQ(shown.exit_code, 0) << shown.output;
  expect_contains(shown, "left out: \"" + experiment() + "/runs.jsonl\", line 5");
  EXPECT_EQ(run_quest("report " + experiment()).exit_code, 0);
  EXPECT_NE(text_of(experiment() + "/report.html").find("line 5"), std::string::npos);

  std::ofstream(experiment() + "/runs.jsonl", std::ios::trunc) << "";
  const auto empty = run_quest("report " + experiment());
  EXPECT_EQ(empty.exit_code, 1);
  expect_contains(empty, "expected at least one run of the experiment \"toy\" that has ended, found none");
}

TEST_F(RunFolder, OfATrainingIsToldByItsFile) {
  const auto training = folder_.path() / "training";
  write(training / "run.json", R"({"task": "image", "status": "running"})");
  write(training / "metrics.jsonl", R"({"kind":"train","step":10,"epoch":0.1,"loss":2.3,"lr":0.001,)"
                                    R"("grad_norm":1.5,"samples_per_second":800.0})"
                                    "\n");
  const auto outcome = run_quest("report " + training.string() + " --figures " + (folder_.path() / "figures").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_TRUE(fs::exists(training / "report.html"));
  EXPECT_TRUE(fs::exists(folder_.path() / "figures" / "training.svg"));

  const auto both = run_quest("report " + training.string() + " " + training.string() + "/ --out " +
                              (folder_.path() / "both.html").string());
  EXPECT_EQ(both.exit_code, 0) << both.output;
  EXPECT_TRUE(fs::exists(folder_.path() / "both.html"));

  const auto mixed = run_quest("report " + training.string() + " " + experiment());
  EXPECT_EQ(mixed.exit_code, 1);
  expect_contains(mixed, experiment());
}

TEST_F(RunFolder, GivesThePaperOurNumbers) {
  const auto outcome = run_quest("paper --runs " + runs());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"Table 1 ", "Figure A8", "quest paper toy --train", "58 / -", "0 / 0"}) {
    expect_contains(outcome, text);
  }
  const auto toy = run_quest("paper toy --runs " + runs());
  expect_contains(toy, "page: quest report " + experiment());
  expect_contains(toy, "(2)");
  const auto markdown = run_quest("paper toy --markdown --runs " + runs());
  expect_contains(markdown, "| --- |");
}

TEST_F(RunFolder, TheJsonHasEveryItemWithThePapersValuesAndOurs) {
  const auto items = items_of("");
  std::size_t with_ours = 0;
  for (const auto& item : items) {
    for (const char* key : {"label", "state", "metric", "experiment", "shows"}) {
      ASSERT_TRUE(item[key].is_string()) << key << " of " << item;
    }
    EXPECT_NE(item["label"], "");
    EXPECT_NE(item["state"], "");
    ASSERT_TRUE(item["rows"].is_array()) << item["label"];
    for (const auto& row : item["rows"]) {
      for (const auto& cell : row["cells"]) {
        ASSERT_TRUE(cell.contains("paper") && cell.contains("ours")) << item["label"];
        with_ours += cell["ours"].is_null() ? 0 : 1;
      }
    }
  }
  EXPECT_GE(items.size(), 33U) << "every table and figure of the paper";
  EXPECT_GE(with_ours, 2U);
  const auto toy = items_of("toy");
  EXPECT_LT(toy.size(), items.size());
  for (const auto& item : toy) {
    EXPECT_EQ(item["experiment"], "toy");
    EXPECT_NE(std::ranges::find(items, item), items.end()) << item["label"];
  }
}

TEST_F(RunFolder, ABrokenRunIsNamedAndLeftOut) {
  const auto before = items_of("toy");
  const auto elsewhere = fs::path(runs()) / "timeseries";
  write(elsewhere / "no-json/run.json", "{ \"status\": ");
  write(elsewhere / "no-recipe/run.json",
        R"({"task": "timeseries", "recipe": "timeseries/uea", "status": "finished"})");
  write(elsewhere / "rest/recipe.toml", "task = \"timeseries\"\n");
  const auto outcome = run_quest("paper timeseries --runs " + runs());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "left out: \"" + (elsewhere / "no-json/run.json").string() + "\"");
  expect_contains(outcome, "left out: \"" + (elsewhere / "no-recipe/recipe.toml").string() + "\"");
  expect_contains(outcome, "left out: \"" + (elsewhere / "rest").string() + "\"");
  expect_contains(run_quest("paper --runs " + runs()), "left out: \"" + (elsewhere / "no-json/run.json").string());
  EXPECT_EQ(items_of("toy"), before);
}

TEST_F(RunFolder, ATableThatItsRunsCannotFillIsNamedAndTheOthersPrinted) {
  const auto before = items_of("toy");
  const auto run = fs::path(runs()) / "timeseries/mine";
  write(run / "run.json", R"({"task": "timeseries", "recipe": "timeseries/uea", "status": "finished"})");
  write(run / "recipe.toml",
        "task = \"timeseries\"\ndata.name = \"Heartbeat\"\ndata.protocol = \"paper\"\nmodel.head = \"class_token\"\n"
        "model.formulation = \"quest\"\n");
  write(run / "evaluations/best.json", R"({"evaluation": "best", "metrics": {}})");
  const auto file = (folder_.path() / "left-out.json").string();
  for (const std::string experiment : {"", "timeseries "}) {
    const auto outcome = run_quest("paper " + experiment + "--runs " + runs() + " --json " + file);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    expect_contains(outcome, "left out: our numbers of Table 7: paper/timeseries.toml:");
    expect_contains(outcome, "asks for \"test_accuracy\"");
    expect_contains(outcome, "Ten UEA data sets");
    expect_contains(outcome, "tables or figures were left out, as told above");
    const auto items = nlohmann::json::parse(text_of(file))["items"];
    const auto table = std::ranges::find(items, "Table 7", [](const auto& item) { return item["label"]; });
    ASSERT_NE(table, items.end());
    EXPECT_EQ((*table)["rows"][3]["cells"][1]["paper"]["text"], "78.54") << *table;
    EXPECT_TRUE((*table)["rows"][3]["cells"][1]["ours"].is_null()) << *table;
  }
  EXPECT_EQ(items_of("toy"), before);
}

TEST(PaperCommand, ClaimsNothingWithoutARun) {
  const auto outcome = run_quest("paper --runs /no/such/folder");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find("/ 0 "), std::string::npos);
  const auto toy = run_quest("paper toy --runs /no/such/folder");
  EXPECT_EQ(toy.exit_code, 0) << toy.output;
  expect_contains(toy,
                  "No run has ended in \"/no/such/folder/toy\" yet; `quest paper toy --train` trains what is missing");
  expect_contains(run_quest("paper imagenet"), "Nothing of this runs here yet");
}

struct BadPaper {
  const char* arguments;
  const char* message;
};

class BadPapers : public ::testing::TestWithParam<BadPaper> {};

TEST_P(BadPapers, EndWithTwo) {
  const auto outcome = run_quest(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  expect_contains(outcome, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadPapers,
    ::testing::Values(BadPaper{"paper imagnet",
                               "there is no experiment \"imagnet\"; the nearest is \"imagenet\"; expected one of "},
                      BadPaper{"paper toy --seeds 3", "without --train"},
                      BadPaper{"paper toy --set seed=1", "without --train"},
                      BadPaper{"paper --train", "--train: expected the name of an experiment; one of "},
                      BadPaper{"paper imagenet --train", "nothing of the experiment \"imagenet\" runs here yet"},
                      BadPaper{"paper --json /no/such/folder/paper.json", "/no/such/folder/paper.json"}));

}  // namespace
}  // namespace quest::cli
