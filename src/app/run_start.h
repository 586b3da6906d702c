#pragma once

// The start of a run: what can be found wrong before it trains, and what its folder says about it from then on.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/task_recipe.h"
#include "app/train_options.h"
#include "train/run/run_folder.h"

namespace quest::app {

struct RunRequest {
  std::string recipe;  // may be empty where a run is resumed
  RecipeOptions options;
  std::filesystem::path folder;
  bool resume = false;
};

// What was asked for, or, where a run is resumed and nothing was, what it was started with. Throws UsageError or
// recipe::RecipeError.
[[nodiscard]] std::vector<recipe::Setting> settings_of(const RunRequest& request);

// Throws UsageError where the folder holds a run that this one would overwrite, or that was started with another
// recipe. Nothing is written.
void check_run(const RunRequest& request, const TaskRecipe& recipe);

// Writes recipe.toml and run.json, which begins with `facts`, into the folder of a new run.
void describe_run(const train::RunFolder& folder, const TaskRecipe& recipe, const nlohmann::ordered_json& facts);

// As it was typed, as far as the shell left it.
[[nodiscard]] std::string command_line();

}  // namespace quest::app
