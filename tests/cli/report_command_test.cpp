// `quest report` and `quest paper`, from a run that `quest toy` has made.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/run_quest.h"

namespace quest::cli {
namespace {

class RunFolder : public ::testing::Test {
 protected:
  RunFolder() {
    std::filesystem::create_directories(folder_);
    const auto outcome = run_quest(
        "toy --formulations standard,quest --learning-rates 0.001 --weight-decays 0 --realizations 1 "
        "--initializations 2 --tokens 5 --samples 20 --test-samples 10 --epochs 2 --threads 1 --run " +
        run());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }
  ~RunFolder() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string run() const { return (folder_ / "run").string(); }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("quest_report_command_" + std::to_string(::getpid()));
};

TEST_F(RunFolder, BecomesAPageAndFigures) {
  const auto outcome = run_quest("report " + run());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.output, run() + "/report.html\n");
  EXPECT_TRUE(std::filesystem::exists(run() + "/report.html"));

  const auto page = (folder_ / "new" / "page.html").string();
  const auto figures = (folder_ / "figures").string();
  const auto asked = run_quest("report " + run() + " " + run() + "/ --out " + page + " --figures " + figures);
  EXPECT_TRUE(std::filesystem::exists(page)) << asked.output;
  EXPECT_TRUE(std::filesystem::exists(figures + "/run2-success.svg"));
}

TEST_F(RunFolder, MistakesAreNamed) {
  const auto missing = run_quest("report " + run() + "x");
  EXPECT_EQ(missing.exit_code, 1);
  expect_contains(missing, "runx\" was expected to be the folder of a run and is not there");

  std::ofstream(run() + "/results.jsonl", std::ios::app) << "{\n";
  const auto broken = run_quest("report " + run());
  EXPECT_EQ(broken.exit_code, 1);
  expect_contains(broken, "results.jsonl\", line 5: expected a finished training");

  std::ofstream(run() + "/results.jsonl", std::ios::trunc) << "";
  const auto empty = run_quest("report " + run());
  EXPECT_EQ(empty.exit_code, 1);
  expect_contains(empty, "holds none");

  EXPECT_EQ(run_quest("report").exit_code, 2);
}

TEST_F(RunFolder, OfATrainingIsToldByItsFile) {
  const auto training = folder_ / "training";
  std::filesystem::create_directories(training);
  std::ofstream(training / "run.json") << R"({"task": "image", "status": "running"})";
  std::ofstream(training / "metrics.jsonl") << R"({"kind":"train","step":10,"epoch":0.1,"loss":2.3,"lr":0.001,)"
                                            << R"("grad_norm":1.5,"samples_per_second":800.0})" << "\n";
  const auto outcome = run_quest("report " + training.string() + " --figures " + (folder_ / "figures").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_TRUE(std::filesystem::exists(training / "report.html"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "figures" / "training.svg"));

  const auto mixed = run_quest("report " + training.string() + " " + run());
  EXPECT_EQ(mixed.exit_code, 1);
  expect_contains(mixed, "expected runs of one kind, got a training");
}

TEST_F(RunFolder, GivesThePaperOurFigures) {
  const auto outcome = run_quest("paper --runs " + folder_.string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* text : {"Table 1 ", "Figure A8", "quest toy --paper", "58 % / -", "0 % / 0 %", "4 trainings"}) {
    expect_contains(outcome, text);
  }
  const auto toy = run_quest("paper toy --runs " + folder_.string());
  expect_contains(toy, "page: quest report " + run());
  expect_contains(toy, "degenerate");
}

TEST(PaperCommand, ClaimsNothingWithoutARun) {
  const auto outcome = run_quest("paper --runs /no/such/folder");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  expect_contains(outcome, "no run in \"/no/such/folder\"");
  EXPECT_EQ(outcome.output.find("% / 0"), std::string::npos);
  expect_contains(run_quest("paper imagenet"), "Nothing of this runs here yet");
  const auto unknown = run_quest("paper imagnet");
  EXPECT_EQ(unknown.exit_code, 2);
  expect_contains(unknown, "one of explain, toy, imagenet");
}

}  // namespace
}  // namespace quest::cli
