#include "cli/train_options.h"

#include <torch/cuda.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "cli/progress.h"
#include "cli/python_clock.h"
#include "cli/task_recipe.h"
#include "cli/terminal.h"
#include "cli/toy_options.h"
#include "cli/usage_error.h"

namespace quest::cli {

void add_machine_options(CLI::App& command, MachineOptions& options) {
  options.threads = default_threads();
  command.add_option("--device", options.device, "Where to compute; auto: on a GPU where there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command.add_option("--threads", options.threads, "Threads of the CPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
}

at::Device use_machine(const MachineOptions& options) {
  torch::set_num_threads(options.threads);
  const bool has_gpu = torch::cuda::is_available();
  if (options.device == "cuda" && !has_gpu) {
    throw UsageError(
        "--device cuda: expected a torch with CUDA and a GPU it can use, found none; or run with --device cpu");
  }
  if (options.device == "cpu" || !has_gpu) return at::kCPU;
  const char* local_rank = std::getenv("LOCAL_RANK");
  const int index = local_rank == nullptr ? 0 : std::atoi(local_rank);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index % static_cast<int>(torch::cuda::device_count()))};
}

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

void fetch_data(const experiments::TaskFactory& factory, train::Communicator& processes) {
  if (processes.rank() == 0) {
    Progress progress(std::cerr, standard_error_is_terminal());
    factory.fetch_data(
        {.python = default_python(), .progress = [&](double done) { progress.update(done, "fetching the data set"); }});
    progress.clear();
  }
  processes.barrier();
}

}  // namespace quest::cli
