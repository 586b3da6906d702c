#include "app/task_recipe.h"

#include <algorithm>
#include <iterator>

#include "app/usage_error.h"
#include "recipe/recipe_files.h"

namespace quest::app {
namespace {

// The setting that counts; null if there is none.
const recipe::Setting* task_setting(std::span<const recipe::Setting> settings) {
  const recipe::Setting* last = nullptr;
  for (const auto& setting : settings) last = setting.key == "task" ? &setting : last;
  return last;
}

const domains::TaskEntry& named_task(std::span<const recipe::Setting> settings) {
  if (const auto name = task_of(settings); !name.empty()) return find_task(name);
  const auto place = settings.empty() ? std::string("the recipe") : settings.front().place;
  throw recipe::RecipeError(place + ": expected the key \"task\", as in task = \"NAME\", and found none; tasks are " +
                            task_names());
}

}  // namespace

std::string task_names() {
  std::string names;
  for (const auto& domain : domains::all()) {
    for (const auto& task : domain.tasks) names += (names.empty() ? "" : ", ") + std::string(task.name);
  }
  return names;
}

const domains::TaskEntry& find_task(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& domain : domains::all()) {
    for (const auto& task : domain.tasks) {
      if (task.name == name) return task;
      known.emplace_back(task.name);
    }
  }
  throw UsageError("there is no task \"" + name + "\"; the nearest is \"" + recipe::nearest(name, known) +
                   "\", all are " + task_names());
}

TaskRecipe::TaskRecipe(std::span<const recipe::Setting> settings) : entry_(named_task(settings)) {
  recipe_.task = entry_.name;
  if (entry_.packed != nullptr) {
    packed_run_ = entry_.packed()->run();
    packed_run_->describe(fields_);
  } else {
    factory_ = entry_.factory();
    train::describe(fields_, recipe_);
    factory_->describe(fields_);
  }
  fields_.apply(settings);
}

void TaskRecipe::require_not_packed() const {
  if (!is_packed()) return;
  throw UsageError("the task \"" + std::string(entry_.name) +
                   "\" trains many small runs side by side and has no model that this command could use");
}

const train::Recipe& TaskRecipe::recipe() const {
  require_not_packed();
  return recipe_;
}

const domains::TaskFactory& TaskRecipe::factory() const {
  require_not_packed();
  return *factory_;
}

std::vector<recipe::Setting> settings_of(const std::string& recipe, std::span<const std::string> assignments) {
  auto settings = recipe::settings_of_recipe(recipe);
  std::ranges::transform(assignments, std::back_inserter(settings), recipe::setting_of_assignment);
  return settings;
}

std::string task_of(std::span<const recipe::Setting> settings) {
  const auto* setting = task_setting(settings);
  if (setting == nullptr) return "";
  const auto* name = std::get_if<std::string>(&setting->value);
  return name == nullptr ? recipe::text_of(setting->value) : *name;
}

std::string differences(const TaskRecipe& there, const TaskRecipe& here) {
  if (there.entry().name != here.entry().name) {
    return "\n  task is " + std::string(there.entry().name) + " there and " + std::string(here.entry().name) + " here";
  }
  std::string text;
  const auto stored = there.fields().entries();
  const auto asked = here.fields().entries();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (stored[i].value == asked[i].value) continue;
    text += "\n  " + asked[i].key + " is " + stored[i].value + " there and " + asked[i].value + " here";
  }
  return text;
}

}  // namespace quest::app
