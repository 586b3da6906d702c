#include "app/run_start.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/usage_error.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::app {
namespace {

using testing::has;
using testing::message_of;

constexpr const char* kRecipe = "images/fashion-mnist-tiny";

class RunStart : public testing::FolderFixture {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return in_folder("run"); }
  [[nodiscard]] RunRequest request(const std::vector<std::string>& assignments = {}, bool resume = false,
                                   const std::string& recipe = kRecipe) const {
    return {.recipe = recipe, .options = {.assignments = assignments}, .folder = folder(), .resume = resume};
  }
  void begin(const std::vector<std::string>& assignments) const {
    const train::RunFolder run(folder());
    describe_run(run, TaskRecipe(settings_of(request(assignments))), {{"recipe", kRecipe}, {"seed", 3}});
  }
  [[nodiscard]] std::string problem_of(const RunRequest& asked) const {
    return message_of([&] { check_run(asked, TaskRecipe(settings_of(asked))); });
  }
};

TEST_F(RunStart, DescribesTheRunInItsFolder) {
  begin({"optimizer.lr=0.5"});
  const auto run = nlohmann::json::parse(testing::text_of(folder() / "run.json"));
  EXPECT_EQ(run["task"], "image");
  EXPECT_EQ(run["recipe"], kRecipe);
  EXPECT_EQ(run["seed"], 3);
  EXPECT_TRUE(run.contains("started"));
  EXPECT_EQ(run["command"], command_line());
  const auto recipe = testing::text_of(folder() / "recipe.toml");
  EXPECT_TRUE(has(recipe, "task = \"image\""));
  EXPECT_TRUE(has(recipe, "lr = 0.5"));
  EXPECT_TRUE(has(recipe, "patch_size = 4"));
}

TEST_F(RunStart, AskingForNothingResumesWithTheStoredRecipe) {
  begin({"optimizer.lr=0.5"});
  const TaskRecipe resumed(settings_of(request({}, true, "")));
  EXPECT_EQ(resumed.recipe().optimizer.lr, 0.5);
  EXPECT_EQ(problem_of(request({}, true, "")), "");
}

TEST_F(RunStart, AskingForNothingWhereThereIsNoRunIsAMistake) {
  for (const bool resume : {false, true}) {
    const auto message = message_of([&] { (void)settings_of(request({}, resume, "")); });
    EXPECT_TRUE(has(message, "holds no run to go on with; name a recipe")) << resume;
  }
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(RunStart, ARunIsNeitherOverwrittenNorResumedWithAnotherRecipe) {
  EXPECT_EQ(problem_of(request()), "");
  EXPECT_FALSE(std::filesystem::exists(folder())) << "nothing is written";
  begin({});
  EXPECT_TRUE(has(problem_of(request()), "holds a run already (never begun); go on with it by --resume"));
  EXPECT_EQ(problem_of(request({}, true)), "");
  EXPECT_EQ(problem_of(request({"optimizer.lr=2e-3"}, true)), "") << "the same number, written otherwise";
  EXPECT_TRUE(has(problem_of(request({"optimizer.lr=0.5"}, true)), "optimizer.lr is 0.002 there and 0.5 here"));
  EXPECT_TRUE(has(problem_of(request({}, true, "toy/spurious")), "task is image there and toy here"));
}

TEST_F(RunStart, AResumedRunMayBeAskedForOneKeyAlone) {
  begin({});
  const auto asked = request({"train.epochs=20"}, true, "");
  EXPECT_EQ(TaskRecipe(settings_of(asked)).recipe().train.epochs, 20);
  EXPECT_TRUE(has(problem_of(asked), "train.epochs is 12 there and 20 here"));
}

}  // namespace
}  // namespace quest::app
