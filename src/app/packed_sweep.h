#pragma once

// Runs of one packed task, side by side into one run folder.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/task_recipe.h"

namespace quest::app {

struct PackedSweep {
  std::string recipe;                    // its name
  std::vector<std::string> assignments;  // for all runs: they are in the folder's recipe.toml
  std::vector<std::unique_ptr<TaskRecipe>> runs;
  std::filesystem::path folder;
  std::string device = "auto";
  int threads = 1;
};

// Trains those that the folder lacks, under a progress bar. Throws UsageError where the folder holds runs of another
// recipe, or Interrupted.
void train_packed(const PackedSweep& sweep);

}  // namespace quest::app
