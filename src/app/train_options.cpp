#include "app/train_options.h"

#include <torch/utils.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "app/machine.h"
#include "app/usage_error.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace quest::app {

void add_recipe_options(CLI::App& command, RecipeOptions& options) {
  command.add_option("--data", options.data, "What to train on, instead of what the recipe says")
      ->type_name("NAME|FOLDER");
  command.add_option("--set", options.assignments, "Change a key of the recipe; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

std::vector<std::string> assignments_of(const RecipeOptions& options, const domains::TaskEntry& task) {
  std::vector<std::string> assignments;
  if (!options.data.empty()) {
    if (task.factory == nullptr) {
      throw UsageError("--data: the task \"" + std::string(task.name) + "\" makes its own data; change it with --set");
    }
    for (const auto& [key, value] : task.factory()->data_settings(options.data)) {
      assignments.push_back(key + "=" + value);
    }
  }
  std::ranges::copy(options.assignments, std::back_inserter(assignments));
  return assignments;
}

void fetch_data(const domains::TaskFactory& factory, train::Communicator& processes) {
  if (processes.rank() == 0) {
    terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
    factory.fetch_data(
        {.python = default_python(), .progress = [&](double done) { progress.update(done, "fetching the data set"); }});
    progress.clear();
  }
  processes.barrier();
}

std::unique_ptr<train::Task> make_task(const TaskRecipe& recipe, at::Device device, train::Communicator& processes) {
  fetch_data(recipe.factory(), processes);
  torch::manual_seed(recipe.recipe().seed);
  return recipe.factory().make(recipe.recipe(), device);
}

}  // namespace quest::app
