// Runs with folders of their own are programs of their own: tests/cli trains those.

#include "app/sweep.h"

#include <gtest/gtest.h>

#include "app/packed_sweep.h"
#include "app/usage_error.h"
#include "paper/runs.h"
#include "recipe/settings.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::app {
namespace {

using testing::has;
using testing::message_of;

constexpr const char* kPacked = "toy/spurious";

class PackedSweeps : public testing::FolderFixture {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return in_folder("runs/packed"); }
  // Tiny ones, with these learning rates.
  [[nodiscard]] std::vector<paper::PlannedRun> planned(const std::vector<std::string>& rates) const {
    std::vector<paper::PlannedRun> runs;
    for (const auto& rate : rates) {
      runs.push_back({.place = "my.toml:1:1",
                      .recipe = kPacked,
                      .settings = {{"optimizer.lr", rate}, {"seed", "0"}},
                      .folder = rate,
                      .evaluations = {}});
    }
    return runs;
  }
  // One with a folder of its own, whose data is nowhere.
  [[nodiscard]] std::vector<paper::PlannedRun> apart() const {
    return {{.place = "my.toml:1:1",
             .recipe = "images/fashion-mnist-tiny",
             .settings = {{"data.folder", in_folder("none").string()}},
             .folder = "seed-0",
             .evaluations = {}}};
  }
  [[nodiscard]] SweepOptions options() const {
    return {.folder = folder(),
            .assignments = {"data.tokens=5", "data.samples=20", "data.test_samples=10", "train.epochs=2"},
            .device = "cpu",
            .jobs = 1};
  }
  [[nodiscard]] std::vector<std::string> rates_of_runs() const {
    std::vector<std::string> rates;
    for (const auto& run : paper::read_runs(folder()).runs) rates.push_back(run.settings.at("optimizer.lr"));
    return rates;
  }
  [[nodiscard]] std::string lines() const { return testing::text_of(folder() / "runs.jsonl"); }
};

TEST_F(PackedSweeps, LieInOneFolderAndWhatIsThereIsNotTrainedAgain) {
  EXPECT_EQ(run_sweep(planned({"0.001", "0.01"}), options()), 0U);
  EXPECT_EQ(rates_of_runs(), (std::vector<std::string>{"0.001", "0.01"}));
  const auto before = lines();
  EXPECT_EQ(run_sweep(planned({"0.001", "0.01"}), options()), 0U);
  EXPECT_EQ(lines(), before);
  EXPECT_EQ(run_sweep(planned({"0.01", "0.02"}), options()), 0U);
  EXPECT_TRUE(lines().starts_with(before));
  EXPECT_EQ(rates_of_runs(), (std::vector<std::string>{"0.001", "0.01", "0.02"}));
}

TEST_F(PackedSweeps, OfEqualsOneIsTrained) {
  EXPECT_EQ(run_sweep(planned({"0.001", "1e-3"}), options()), 0U);
  EXPECT_EQ(rates_of_runs().size(), 1U);
}

TEST_F(PackedSweeps, KilledWhileALineWasWrittenTheyTrainThatRunAgain) {
  (void)run_sweep(planned({"0.001", "0.01"}), options());
  const auto whole = lines();
  std::filesystem::resize_file(folder() / "runs.jsonl", whole.size() - 5);
  EXPECT_EQ(run_sweep(planned({"0.001", "0.01"}), options()), 0U);
  EXPECT_EQ(lines(), whole) << "to the bit";
}

TEST_F(PackedSweeps, OfAnotherRecipeAreNotMixed) {
  (void)run_sweep(planned({"0.001"}), options());
  const auto before = lines();
  auto other = options();
  other.assignments.emplace_back("train.batch_size=7");
  const auto message = message_of([&] { (void)run_sweep(planned({"0.001"}), other); });
  EXPECT_TRUE(has(message, "was started with another recipe:\n  train.batch_size is 32 there and 7 here"));
  EXPECT_EQ(lines(), before);
}

TEST_F(PackedSweeps, ThatCouldNotBeginLeaveNothing) {
  PackedSweep sweep{.recipe = kPacked, .assignments = {}, .runs = {}, .folder = folder(), .device = "tpu"};
  sweep.runs.push_back(std::make_unique<TaskRecipe>(settings_of(kPacked, {})));
  EXPECT_THROW(train_packed(sweep), std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(folder().parent_path())) << "nor the folder it lies in";
}

TEST_F(PackedSweeps, AMistakeInTheGridIsToldWithItsPlaceBeforeAnythingIsTrained) {
  auto runs = planned({"0.001", "0.01"});
  runs[1].settings.emplace_back("optimizer.lrr", "1");
  const auto unknown_key = message_of([&] { (void)run_sweep(runs, options()); });
  EXPECT_TRUE(has(unknown_key, "my.toml:1:1"));
  EXPECT_TRUE(has(unknown_key, "the nearest is \"optimizer.lr\""));
  runs = planned({"0.001", "fast"});
  EXPECT_TRUE(has(message_of([&] { (void)run_sweep(runs, options()); }), "my.toml:1:1: optimizer.lr: expected"));
  runs = planned({"0.001", "0.01"});
  runs[1].recipe = "toy/spurius";
  const auto unknown_recipe = message_of([&] { (void)run_sweep(runs, options()); });
  EXPECT_TRUE(has(unknown_recipe, "my.toml:1:1.recipe: there is no recipe \"toy/spurius\""));
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(PackedSweeps, OfTwoRecipesNeedTwoExperiments) {
  std::filesystem::create_directories(in_folder("recipes"));
  const auto copy = file_with("recipes/copy.toml", "base = '" + std::string(kPacked) + "'\n");
  auto runs = planned({"0.001", "0.01"});
  runs[1].recipe = copy.string();
  EXPECT_TRUE(has(message_of([&] { (void)run_sweep(runs, options()); }), "can have one recipe alone"));
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(PackedSweeps, HaveNoEvaluations) {
  auto runs = planned({"0.001"});
  runs[0].evaluations = {"calibration"};
  EXPECT_EQ(message_of([&] { (void)run_sweep(runs, options()); }),
            "my.toml:1:1.evaluations: expected none, as the runs of the task \"toy\" keep no weights, got "
            "\"calibration\"");
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(PackedSweeps, OfOtherTasksNameTheirEvaluationsBeforeAnythingIsTrained) {
  auto runs = apart();
  runs[0].evaluations = {"calibration", "calibraton"};
  auto plain = options();
  plain.assignments.clear();
  const auto message = message_of([&] { (void)run_sweep(runs, plain); });
  EXPECT_TRUE(
      has(message, "my.toml:1:1.evaluations: there is no evaluation \"calibraton\"; the nearest is \"calibration"))
      << message;
  EXPECT_THROW((void)run_sweep(runs, plain), recipe::RecipeError);
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(PackedSweeps, RunsWhoseDataIsMissingAreLeftOut) {
  const auto runs = apart();
  auto plain = options();
  plain.assignments.clear();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_sweep(runs, plain), 0U);
  EXPECT_TRUE(has(::testing::internal::GetCapturedStderr(), "left out: the data set"));
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

}  // namespace
}  // namespace quest::app
