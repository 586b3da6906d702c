#pragma once

// What `quest train` and `quest eval` share on the command line.

#include <ATen/core/Tensor.h>

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "experiments/tasks.h"
#include "train/communicator.h"

namespace quest::cli {

struct MachineOptions {
  std::string device = "auto";
  int threads = 0;
};

void add_machine_options(CLI::App& command, MachineOptions& options);

// Sets torch's threads, and finds the device; under torchrun, the GPU of this process. Throws UsageError.
[[nodiscard]] at::Device use_machine(const MachineOptions& options);

struct RecipeOptions {
  std::string task;
  std::string recipe;
  std::string data;
  std::string protocol;
  std::vector<std::string> assignments;
};

void add_recipe_options(CLI::App& command, RecipeOptions& options);

// What --data and --protocol stand for, and after it what --set says; "key=value" each. Throws UsageError.
[[nodiscard]] std::vector<std::string> assignments_of(const RecipeOptions& options);

// Gets data that is missing and can be fetched, under a progress bar; one process does it for all.
void fetch_data(const experiments::TaskFactory& factory, train::Communicator& processes);

}  // namespace quest::cli
