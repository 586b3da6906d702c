#include "app/task_recipe.h"

#include <gtest/gtest.h>

#include "app/train_options.h"
#include "app/usage_error.h"
#include "recipe/recipe_files.h"
#include "recipe/settings.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::app {
namespace {

using testing::has;
using testing::message_of;

constexpr const char* kImages = "images/fashion-mnist-tiny";
constexpr const char* kPacked = "toy/spurious";

std::vector<recipe::Setting> settings(const std::string& recipe, const std::vector<std::string>& assignments = {}) {
  return settings_of(recipe, assignments);
}

class TaskRecipes : public testing::FolderFixture {
 protected:
  [[nodiscard]] std::string problem_of_text(const std::string& toml) const {
    const auto file = file_with("my.toml", toml);
    return message_of([&] { const TaskRecipe recipe(settings(file.string())); });
  }
  static std::string problem_of(const std::string& recipe, const std::string& assignment) {
    return message_of([&] { const TaskRecipe made(settings(recipe, {assignment})); });
  }
};

TEST_F(TaskRecipes, EveryRecipeOfTheProgramCanBeReadAndWrittenAndReadAgain) {
  for (const auto& embedded : recipe::embedded_recipes()) {
    const TaskRecipe recipe(settings(std::string(embedded.name)));
    const auto written = recipe.fields().toml();
    const TaskRecipe again(recipe::settings_of_toml(written, "again"));
    EXPECT_EQ(again.fields().toml(), written) << embedded.name;
    EXPECT_EQ(differences(recipe, again), "") << embedded.name;
  }
}

TEST_F(TaskRecipes, NameTheirTask) {
  EXPECT_EQ(task_of(settings(kImages)), "image");
  EXPECT_EQ(task_of(settings(kImages, {"task=other"})), "other") << "the last one counts";
  EXPECT_EQ(task_of({}), "");
  const TaskRecipe recipe(settings(kImages));
  EXPECT_EQ(recipe.entry().name, "image");
  EXPECT_EQ(recipe.recipe().task, "image");
}

TEST_F(TaskRecipes, WithoutATaskSayWhereAndWhichThereAre) {
  const auto problem = problem_of_text("seed = 3\n");
  EXPECT_TRUE(has(problem, "my.toml:1:1: expected the key \"task\", as in task = \"NAME\", and found none"));
  EXPECT_TRUE(has(problem, task_names()));
  EXPECT_TRUE(has(problem_of_text(""), "the recipe: expected the key \"task\""));
}

TEST_F(TaskRecipes, OfAnUnknownTaskNameTheNearest) {
  EXPECT_THROW((void)find_task("imgae"), UsageError);
  const auto problem = problem_of_text("task = \"imgae\"\n");
  EXPECT_TRUE(has(problem, "there is no task \"imgae\"; the nearest is \"image\", all are " + task_names()));
}

TEST_F(TaskRecipes, NameTheNearestKeyAndThePlaceOfAMistake) {
  EXPECT_TRUE(has(problem_of_text("task = \"image\"\n[optimizer]\nlrr = 1\n"), "my.toml:3:"));
  EXPECT_TRUE(has(problem_of(kImages, "optimizer.lrr=1"), "the nearest is \"optimizer.lr\""));
  EXPECT_TRUE(has(problem_of_text("task = \"image\"\ntrain.epochs = \"ten\"\n"), "expected a whole number from 1"));
  EXPECT_TRUE(has(problem_of_text("task = \"image\"\noptimizer.lr = [0.1, 0.2]\n"), "my.toml:2:"));
  EXPECT_TRUE(has(problem_of_text("task = \"image\"\noptimizer.lr = [0.1, 0.2]\n"), "optimizer.lr: expected a number"));
  EXPECT_TRUE(has(problem_of(kImages, "optimizer.lr=[0.1,0.2]"), "optimizer.lr: expected a number above 0, got [0.1"));
}

TEST_F(TaskRecipes, OfPackedTasksHaveNoModel) {
  const TaskRecipe packed(settings(kPacked));
  ASSERT_TRUE(packed.is_packed());
  EXPECT_THROW((void)packed.recipe(), UsageError);
  EXPECT_TRUE(has(message_of([&] { (void)packed.factory(); }), "trains many small runs side by side"));
  EXPECT_FALSE(TaskRecipe(settings(kImages)).is_packed());
}

TEST_F(TaskRecipes, TellHowTheyDiffer) {
  const TaskRecipe base(settings(kImages));
  const TaskRecipe other(settings(kImages, {"optimizer.lr=0.5", "model.formulation=standard"}));
  EXPECT_EQ(differences(base, other),
            "\n  optimizer.lr is 0.002 there and 0.5 here"
            "\n  model.formulation is \"quest\" there and \"standard\" here");
  EXPECT_EQ(differences(base, base), "");
  EXPECT_EQ(differences(TaskRecipe(settings(kPacked)), base), "\n  task is toy there and image here");
}

TEST(RecipeOptions, DataIsWhatTheTaskTakesItForAndSetComesAfter) {
  const RecipeOptions options{.data = "/some/folder", .assignments = {"seed=3", "data.folder=/other"}};
  EXPECT_EQ(assignments_of(options, find_task("image")),
            (std::vector<std::string>{"data.folder=/some/folder", "seed=3", "data.folder=/other"}));
  EXPECT_EQ(assignments_of({.assignments = {"seed=3"}}, find_task("image")), std::vector<std::string>{"seed=3"});
  EXPECT_TRUE(has(message_of([&] { (void)assignments_of(options, find_task("toy")); }),
                  "--data: the task \"toy\" makes its own data; change it with --set"));
}

}  // namespace
}  // namespace quest::app
