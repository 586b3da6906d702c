#include "cli/train_options.h"

#include <torch/cuda.h>
#include <torch/utils.h>

#include <cstdlib>

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
  command.add_option("--set", options.assignments, "Change a key of the recipe; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace quest::cli
