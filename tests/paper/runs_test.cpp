// Run folders and packed runs, read alike; what is broken is named and left out, and never the end.

#include "paper/runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "tests/testing/temporary_folder.h"

namespace quest::paper {
namespace {

namespace fs = std::filesystem;

class RunFolders : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_.path() / name; }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }

  void write_run(const std::string& name, const std::string& seed = "0") const {
    write(name + "/run.json", R"({"task": "line", "recipe": "made-up/line", "status": "finished"})");
    write(name + "/recipe.toml", "task = \"line\"\nseed = " + seed +
                                     "\n[data]\nnoise = 0.50\nname = \"A \\\"b\\\"\"\nsizes = [1, 2]\nflip = true\n");
    write(name + "/evaluations/best.json",
          R"({"evaluation": "best", "step": 7, "metrics": {"error": 0.25, "loss": null}})");
  }

  [[nodiscard]] Runs runs() const { return read_runs(folder_.path()); }

  // The only problem, of a file in the folder.
  void expect_problem(const Runs& found, const std::string& file, const std::string& what) const {
    ASSERT_EQ(found.problems.size(), 1U);
    EXPECT_NE(found.problems[0].find(path(file).string()), std::string::npos) << found.problems[0];
    EXPECT_NE(found.problems[0].find(what), std::string::npos) << found.problems[0];
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(RunFolders, AreReadWithAllThatTablesNeed) {
  write_run("a/b");
  write("a/b/evaluations/calibration.json", R"({"evaluation": "calibration", "metrics": {"ece": 3}})");
  const auto found = runs();
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.runs.size(), 1U);
  const auto& run = found.runs.front();
  EXPECT_EQ(run.folder, path("a/b"));
  EXPECT_EQ(run.recipe, "made-up/line");
  EXPECT_EQ(run.task, "line");
  EXPECT_EQ(run.status, "finished");
  EXPECT_EQ(run.settings, (std::map<std::string, std::string>{{"task", "line"},
                                                              {"seed", "0"},
                                                              {"data.noise", "0.5"},
                                                              {"data.name", "A \"b\""},
                                                              {"data.sizes", "[1, 2]"},
                                                              {"data.flip", "true"}}));
  EXPECT_EQ(run.evaluations.at("best").at("error"), 0.25);
  EXPECT_TRUE(std::isnan(run.evaluations.at("best").at("loss")));
  EXPECT_EQ(run.evaluations.at("calibration").at("ece"), 3.0);
  EXPECT_TRUE(run.series.is_null());
}

TEST_F(RunFolders, AreFoundAnywhereButNotBelowARun) {
  write_run("b", "1");
  write_run("a/x", "2");
  write_run("b/inside", "3");
  write("notes/todo.txt", "x");
  const auto found = runs();
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.runs.size(), 2U);
  EXPECT_EQ(found.runs[0].folder, path("a/x"));
  EXPECT_EQ(found.runs[1].folder, path("b"));
  EXPECT_EQ(read_runs(path("b")).runs.size(), 1U) << "a run itself";
}

TEST_F(RunFolders, LinksAreNotFollowed) {
  write_run("a/x");
  fs::create_directory_symlink(path("a"), path("a/circle"));
  EXPECT_EQ(runs().runs.size(), 1U);
}

TEST_F(RunFolders, ThereAreNoneWhereThereIsNoFolder) {
  const auto found = read_runs(path("missing"));
  EXPECT_TRUE(found.runs.empty());
  EXPECT_TRUE(found.problems.empty());
  EXPECT_TRUE(runs().runs.empty());
}

TEST_F(RunFolders, ARunThatHasJustBegunIsOne) {
  write_run("a");
  write("a/run.json", "{}");
  fs::remove_all(path("a/evaluations"));
  const auto found = runs();
  EXPECT_TRUE(found.problems.empty());
  EXPECT_EQ(found.runs.at(0).status, "never begun");
  EXPECT_EQ(found.runs.at(0).recipe, "");
  EXPECT_TRUE(found.runs.at(0).evaluations.empty());
}

TEST_F(RunFolders, BrokenOnesAreNamedAndTheOthersRead) {
  for (const auto& [file, text, what] : std::vector<std::array<std::string, 3>>{
           {"run.json", "{\"status\": ", "was expected to describe a training run and holds something else"},
           {"run.json", "[]", "holds something else"},
           {"run.json", "{\"recipe\": 3}", "recipe: expected a text, got 3"},
           {"run.json", "{\"status\": [\"finished\"]}", "status: expected a text, got [\"finished\"]"},
           {"recipe.toml", "seed = = 0", "recipe.toml:1:8"},
           {"recipe.toml", "", "expected every key of the run's recipe and found no \"task\""},
           {"recipe.toml", "seed = 0", "found no \"task\""},
           {"recipe.toml", "begin = 1979-05-27", "recipe.toml"}}) {
    write_run("broken");
    write_run("whole", "1");
    write("broken/" + file, text);
    const auto found = runs();
    expect_problem(found, "broken/" + file, what);
    ASSERT_EQ(found.runs.size(), 1U);
    EXPECT_EQ(found.runs.front().folder, path("whole"));
  }
}

TEST_F(RunFolders, AMissingRecipeIsNamed) {
  write_run("broken");
  fs::remove(path("broken/recipe.toml"));
  const auto found = runs();
  expect_problem(found, "broken/recipe.toml", "was expected in the folder of a run and cannot be read");
  EXPECT_TRUE(found.runs.empty());
}

TEST_F(RunFolders, PartsOfARunWithoutItsHeadAreNamed) {
  for (const std::string part : {"recipe.toml", "runs.jsonl", "metrics.jsonl", "evaluations"}) {
    write("rest/" + part + (part == "evaluations" ? "/best.json" : ""), "");
    write_run("whole");
    const auto found = runs();
    expect_problem(found, "rest", "expected \"run.json\" beside \"" + part + "\"");
    EXPECT_EQ(found.runs.size(), 1U);
    fs::remove_all(path("rest"));
  }
}

TEST_F(RunFolders, ABrokenEvaluationIsLeftOutOfItsRun) {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"{", "expected a JSON object"},
           {"[1]", "expected a JSON object"},
           {R"({"metrics": {}})", "expected the evaluation \"ece\", got \"\""},
           {R"({"evaluation": "best", "metrics": {}})", "expected the evaluation \"ece\", got \"best\""},
           {R"({"evaluation": 3, "metrics": {}})", "evaluation: expected a text, got 3"},
           {R"({"evaluation": "ece"})", "expected \"metrics\", an object"},
           {R"({"evaluation": "ece", "metrics": [1]})", "expected \"metrics\", an object"},
           {R"({"evaluation": "ece", "metrics": {"x": "1"}})", "metrics: x: expected a number or null, got \"1\""}}) {
    write_run("run");
    write("run/evaluations/ece.json", text);
    const auto found = runs();
    expect_problem(found, "run/evaluations/ece.json", what);
    ASSERT_EQ(found.runs.size(), 1U);
    EXPECT_TRUE(found.runs.front().evaluations.contains("best"));
    EXPECT_FALSE(found.runs.front().evaluations.contains("ece"));
  }
}

TEST_F(RunFolders, OtherFilesBesideEvaluationsAreNone) {
  write_run("run");
  write("run/evaluations/best.json.tmp", "{");
  EXPECT_TRUE(runs().problems.empty());
}

TEST_F(RunFolders, WhatCannotBeListedIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "skipped: nothing is closed to root";
  write_run("closed/run");
  fs::permissions(path("closed"), fs::perms::none);
  const auto found = runs();
  fs::permissions(path("closed"), fs::perms::owner_all);
  expect_problem(found, "closed", "cannot be listed");
}

constexpr const char* kLine =
    R"({"settings": {"seed": "3", "data.noise": "0.1"}, "status": "finished", "metrics": {"error": 0.5}, "series": {"loss": [2, 1]}})";
constexpr const char* kCrash =
    R"({"settings": {"seed": "4"}, "status": "crashed at epoch 2", "metrics": {"error": null}})";

TEST_F(RunFolders, PackedRunsLookLikeOthers) {
  write_run("packed");
  write("packed/runs.jsonl", std::string(kLine) + "\n" + kCrash + "\n");
  const auto found = runs();
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.runs.size(), 2U);
  const auto& run = found.runs[0];
  EXPECT_EQ(run.folder, path("packed"));
  EXPECT_EQ(run.recipe, "made-up/line");
  EXPECT_EQ(run.task, "line");
  EXPECT_EQ(run.settings.at("seed"), "3");
  EXPECT_EQ(run.settings.at("data.noise"), "0.1");
  EXPECT_EQ(run.settings.at("data.flip"), "true") << "from the recipe of the folder";
  EXPECT_EQ(run.evaluations.at("best").at("error"), 0.5);
  EXPECT_EQ(run.evaluations.size(), 1U);
  EXPECT_EQ(run.series.dump(), R"({"loss":[2,1]})");
  EXPECT_EQ(found.runs[1].status, "crashed at epoch 2");
  EXPECT_EQ(found.runs[1].settings.at("data.noise"), "0.5");
  EXPECT_TRUE(std::isnan(found.runs[1].evaluations.at("best").at("error")));
}

TEST_F(RunFolders, ABrokenLineOfPackedRunsIsNamedAndTheOthersRead) {
  write_run("packed");
  write("packed/runs.jsonl",
        std::string(kLine) + "\n{\"settings\": \n" + kLine + "\n" + kCrash + "\n" + "{\"settings\"");
  const auto found = runs();
  ASSERT_EQ(found.problems.size(), 3U);
  const auto file = "\"" + path("packed/runs.jsonl").string() + "\", line ";
  EXPECT_TRUE(found.problems[0].starts_with(file + "2: expected a JSON object")) << found.problems[0];
  EXPECT_TRUE(found.problems[1].starts_with(file + "3: expected other settings")) << found.problems[1];
  EXPECT_TRUE(found.problems[2].starts_with(file + "5: expected an end of the line")) << found.problems[2];
  ASSERT_EQ(found.runs.size(), 2U);
  EXPECT_EQ(found.runs[1].settings.at("seed"), "4");
}

TEST(RunStatus, TellsEndsFromInterruptions) {
  for (const char* status : {"finished", "stopped early"}) {
    EXPECT_TRUE(has_ended_well(status));
    EXPECT_TRUE(has_ended(status));
  }
  EXPECT_FALSE(has_ended_well("crashed at iteration 3"));
  EXPECT_TRUE(has_ended("crashed at iteration 3"));
  for (const char* status : {"running", "interrupted", "never begun", ""}) EXPECT_FALSE(has_ended(status)) << status;
}

}  // namespace
}  // namespace quest::paper
