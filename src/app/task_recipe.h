#pragma once

// A task of the program together with what a recipe says about it.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "domains/domain.h"
#include "recipe/fields.h"
#include "train/engine/recipe.h"

namespace quest::app {

// Throws UsageError, which names the nearest one.
[[nodiscard]] const domains::TaskEntry& find_task(const std::string& name);

class TaskRecipe {
 public:
  // Throws train::RecipeError, also for a recipe of another task.
  TaskRecipe(const domains::TaskEntry& task, std::span<const recipe::Setting> settings);
  TaskRecipe(const TaskRecipe&) = delete;  // fields_ refers to its neighbours
  TaskRecipe& operator=(const TaskRecipe&) = delete;

  [[nodiscard]] const train::Recipe& recipe() const { return recipe_; }
  [[nodiscard]] const domains::TaskFactory& factory() const { return *factory_; }
  [[nodiscard]] const recipe::Fields& fields() const { return fields_; }

 private:
  train::Recipe recipe_;
  std::unique_ptr<domains::TaskFactory> factory_;
  recipe::Fields fields_;
};

// What the recipe says, and after it what --set says.
[[nodiscard]] std::vector<recipe::Setting> settings_of(const std::string& recipe,
                                                      std::span<const std::string> assignments);

// The task that a recipe names; empty if it names none.
[[nodiscard]] std::string task_of(std::span<const recipe::Setting> settings);

// "optimizer.lr is 0.001 there and 0.01 here", one line each.
[[nodiscard]] std::string differences(const TaskRecipe& there, const TaskRecipe& here);

}  // namespace quest::app
