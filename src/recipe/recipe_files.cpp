#include "recipe/recipe_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "recipe/fields.h"

namespace quest::recipe {
namespace {

constexpr std::string_view kBaseKey = "base";

bool is_path(const std::string& name) { return name.ends_with(".toml"); }

std::vector<Setting> settings_of_file(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    throw RecipeError("the recipe \"" + path + "\" cannot be read; is the path right?");
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return settings_of_toml(text, path);
}

std::vector<Setting> settings_of_name(const std::string& name) {
  std::vector<std::string> known;
  for (const EmbeddedRecipe& recipe : embedded_recipes()) {
    if (recipe.name == name) return settings_of_toml(recipe.text, "recipe " + name);
    known.emplace_back(recipe.name);
  }
  throw RecipeError("there is no recipe \"" + name + "\"; the nearest is \"" + nearest(name, known) +
                    "\", `quest recipes` lists all, and a file is named with its .toml");
}

std::string as_seen_from(const std::string& recipe, const std::string& base) {
  if (!is_path(base)) return base;
  return (std::filesystem::path(recipe).parent_path() / base).lexically_normal().string();
}

std::vector<Setting> with_bases(const std::string& recipe, std::vector<std::string> above) {
  if (std::ranges::find(above, recipe) != above.end()) {
    throw RecipeError("the recipe \"" + recipe + "\" is a base of itself; take one of the `base` lines out");
  }
  above.push_back(recipe);
  auto settings = is_path(recipe) ? settings_of_file(recipe) : settings_of_name(recipe);
  const auto line = std::ranges::find(settings, kBaseKey, &Setting::key);
  if (line == settings.end()) return settings;
  const auto* base = std::get_if<std::string>(&line->value);
  if (base == nullptr) {
    throw RecipeError(line->place + ": base: expected the name or path of a recipe, got " + text_of(line->value));
  }
  auto result = with_bases(as_seen_from(recipe, *base), std::move(above));
  settings.erase(line);
  std::ranges::move(settings, std::back_inserter(result));
  return result;
}

}  // namespace

std::vector<Setting> settings_of_recipe(const std::string& name_or_path) { return with_bases(name_or_path, {}); }

}  // namespace quest::recipe
