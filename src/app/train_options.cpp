#include "app/train_options.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include "terminal/progress.h"
#include "app/machine.h"
#include "app/task_recipe.h"
#include "terminal/terminal.h"
#include "app/usage_error.h"

namespace quest::app {

void add_recipe_options(CLI::App& command, RecipeOptions& options) {
  command.add_option("task", options.task, "What to train")->required()->type_name("TASK");
  command.add_option("--recipe", options.recipe, "A name that `quest recipes` lists, or a file")
      ->type_name("NAME|FILE");
  command.add_option("--data", options.data, "What to train on, instead of what the recipe says")
      ->type_name("NAME|FOLDER");
  command.add_option("--protocol", options.protocol, "Short for --set data.protocol=NAME")->type_name("NAME");
  command.add_option("--set", options.assignments, "Change a key of the recipe; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

std::vector<std::string> assignments_of(const RecipeOptions& options) {
  std::vector<std::string> assignments;
  if (!options.data.empty()) {
    for (const auto& [key, value] : find_task(options.task).factory()->data_settings(options.data)) {
      assignments.push_back(key + "=" + value);
    }
  }
  if (!options.protocol.empty()) assignments.push_back("data.protocol=" + options.protocol);
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

}  // namespace quest::app
