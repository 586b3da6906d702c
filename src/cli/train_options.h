#pragma once

// What `quest train` and `quest eval` share on the command line.

#include <ATen/core/Tensor.h>

#include <CLI/App.hpp>
#include <string>
#include <vector>

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
  std::vector<std::string> assignments;
};

void add_recipe_options(CLI::App& command, RecipeOptions& options);

}  // namespace quest::cli
