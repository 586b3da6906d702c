#include "recipe/recipe_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quest::recipe {
namespace {

class RecipeFiles : public ::testing::Test {
 protected:
  RecipeFiles() { std::filesystem::create_directories(folder_ / "inner"); }
  ~RecipeFiles() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  static std::string error_of(const std::string& recipe) {
    try {
      (void)recipe::settings_of_recipe(recipe);
    } catch (const recipe::RecipeError& error) {
      return error.what();
    }
    return "no error";
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("quest_recipe_files_" + std::to_string(getpid()));
};

TEST_F(RecipeFiles, ARecipeComesAfterItsBases) {
  write("first.toml", "a = 1\nb = 2\n");
  write("second.toml", "base = 'first.toml'\nb = 3\n");
  const auto recipe = write("inner/third.toml", "c = 4\nbase = '../second.toml'\n");
  std::string keys;
  for (const recipe::Setting& setting : recipe::settings_of_recipe(recipe))
    keys += setting.key + recipe::text_of(setting.value) + " ";
  EXPECT_EQ(keys, "a1 b2 b3 c4 ");
}

TEST_F(RecipeFiles, ACircleOfBasesIsRefused) {
  const auto recipe = write("one.toml", "base = 'two.toml'\n");
  write("two.toml", "base = 'one.toml'\n");
  EXPECT_NE(error_of(recipe).find("is a base of itself"), std::string::npos) << error_of(recipe);
}

TEST_F(RecipeFiles, TheEmbeddedOnesAreFoundByName) {
  ASSERT_FALSE(recipe::embedded_recipes().empty());
  for (const recipe::EmbeddedRecipe& recipe : recipe::embedded_recipes()) {
    EXPECT_FALSE(recipe::settings_of_recipe(std::string(recipe.name)).empty()) << recipe.name;
  }
  EXPECT_EQ(error_of("fashion-mist-tiny"),
            "there is no recipe \"fashion-mist-tiny\"; the nearest is \"images/fashion-mnist-tiny\", `quest recipes` "
            "lists all, "
            "and a file is named with its .toml");
}

TEST_F(RecipeFiles, APathThatCannotBeReadIsNamed) {
  EXPECT_EQ(error_of("/no/such/recipe.toml"), "the recipe \"/no/such/recipe.toml\" cannot be read; is the path right?");
  std::filesystem::create_directories(folder_ / "folder.toml");
  EXPECT_NE(error_of((folder_ / "folder.toml").string()).find("cannot be read"), std::string::npos);
  EXPECT_NE(error_of(write("bad.toml", "base = 3\n")).find("bad.toml:1:1: base: expected the name"), std::string::npos);
}

}  // namespace
}  // namespace quest::recipe
