#pragma once

// What `quest train` and `quest eval` share on the command line.

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "domains/domain.h"
#include "train/distributed/communicator.h"

namespace quest::app {

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
void fetch_data(const domains::TaskFactory& factory, train::Communicator& processes);

}  // namespace quest::app
