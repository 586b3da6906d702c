#include "app/task_recipe.h"

#include <algorithm>
#include <iterator>

#include "app/usage_error.h"
#include "recipe/recipe_files.h"

namespace quest::app {
namespace {

// The one that counts; null if there is none.
const recipe::Setting* task_line(std::span<const recipe::Setting> settings) {
  const recipe::Setting* last = nullptr;
  for (const auto& setting : settings) last = setting.key == "task" ? &setting : last;
  return last;
}

}  // namespace

const domains::TaskEntry& find_task(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& domain : domains::all()) {
    for (const auto& task : domain.tasks) {
      if (task.name == name) return task;
      known.emplace_back(task.name);
    }
  }
  std::string list;
  for (const auto& task : known) list += (list.empty() ? "" : ", ") + task;
  throw UsageError("there is no task \"" + name + "\"; the nearest is \"" + recipe::nearest(name, known) +
                   "\", all are " + list);
}

TaskRecipe::TaskRecipe(const domains::TaskEntry& task, std::span<const recipe::Setting> settings)
    : factory_(task.factory()) {
  if (const auto named = task_of(settings); !named.empty() && named != task.name) {
    throw recipe::RecipeError(task_line(settings)->place + ": this is a recipe of the task \"" + named +
                             "\", not of \"" + std::string(task.name) +
                             "\"; ask for that task, or choose another recipe");
  }
  recipe_.task = task.name;
  train::describe(fields_, recipe_);
  factory_->describe(fields_);
  fields_.apply(settings);
}

std::vector<recipe::Setting> settings_of(const std::string& recipe, std::span<const std::string> assignments) {
  auto settings = recipe::settings_of_recipe(recipe);
  std::ranges::transform(assignments, std::back_inserter(settings), recipe::setting_of_assignment);
  return settings;
}

std::string task_of(std::span<const recipe::Setting> settings) {
  const auto* line = task_line(settings);
  if (line == nullptr) return "";
  const auto* name = std::get_if<std::string>(&line->value);
  return name == nullptr ? recipe::text_of(line->value) : *name;
}

std::string differences(const TaskRecipe& there, const TaskRecipe& here) {
  std::string text;
  const auto stored = there.fields().entries();
  const auto asked = here.fields().entries();
  for (std::size_t i = 0; i < asked.size(); ++i) {  // the same task, so the same keys
    if (stored[i].value == asked[i].value) continue;
    text += "\n  " + asked[i].key + " is " + stored[i].value + " there and " + asked[i].value + " here";
  }
  return text;
}

}  // namespace quest::app
