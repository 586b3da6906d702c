#pragma once

// What commands that read a recipe share on the command line.

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "app/task_recipe.h"
#include "domains/domain.h"
#include "train/distributed/communicator.h"

namespace quest::app {

struct RecipeOptions {
  std::string data;
  std::vector<std::string> assignments;
};

void add_recipe_options(CLI::App& command, RecipeOptions& options);

// What --data stands for in that task, and after it what --set says; "key=value" each.
[[nodiscard]] std::vector<std::string> assignments_of(const RecipeOptions& options, const domains::TaskEntry& task);

// Gets data that is missing and can be fetched, under a progress bar; one process does it for all.
void fetch_data(const domains::TaskFactory& factory, train::Communicator& processes);

// A task with its data and its model, weights drawn from the recipe's seed.
[[nodiscard]] std::unique_ptr<train::Task> make_task(const TaskRecipe& recipe, at::Device device,
                                                     train::Communicator& processes);

}  // namespace quest::app
