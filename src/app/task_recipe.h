#pragma once

// A recipe and the task that it names.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "domains/domain.h"
#include "recipe/fields.h"
#include "train/engine/recipe.h"

namespace quest::app {

// All of them, for messages.
[[nodiscard]] std::string task_names();

// Throws UsageError, which names the nearest one.
[[nodiscard]] const domains::TaskEntry& find_task(const std::string& name);

class TaskRecipe {
 public:
  // Throws recipe::RecipeError, also for a recipe that names no task.
  explicit TaskRecipe(std::span<const recipe::Setting> settings);
  TaskRecipe(const TaskRecipe&) = delete;  // fields_ refers to its neighbours
  TaskRecipe& operator=(const TaskRecipe&) = delete;

  [[nodiscard]] const domains::TaskEntry& entry() const { return entry_; }
  [[nodiscard]] const recipe::Fields& fields() const { return fields_; }

  // Whether the task trains many small runs side by side: then it has a packed run, and neither recipe() nor factory().
  [[nodiscard]] bool is_packed() const { return packed_run_ != nullptr; }
  [[nodiscard]] const domains::PackedRun& packed_run() const { return *packed_run_; }

  // Both throw UsageError for a packed task.
  [[nodiscard]] const train::Recipe& recipe() const;
  [[nodiscard]] const domains::TaskFactory& factory() const;

 private:
  void require_not_packed() const;

  const domains::TaskEntry& entry_;
  train::Recipe recipe_;
  std::unique_ptr<domains::TaskFactory> factory_;
  std::unique_ptr<domains::PackedRun> packed_run_;
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
