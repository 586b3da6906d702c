#pragma once

// Where recipes come from: those compiled into the program, by name, or any file, by its path.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/settings.h"

namespace quest::recipe {

struct EmbeddedRecipe {
  std::string_view name;  // of recipes/NAME.toml
  std::string_view text;
};

[[nodiscard]] std::span<const EmbeddedRecipe> embedded_recipes();

// What a recipe says, after what its base says: `base = "NAME"`, or a path as seen from the recipe's own file. A path
// is what holds a slash or ends in .toml. Throws RecipeError.
[[nodiscard]] std::vector<Setting> settings_of_recipe(const std::string& name_or_path);

}  // namespace quest::recipe
