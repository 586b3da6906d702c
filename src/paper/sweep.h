#pragma once

// The runs that an experiment consists of.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "paper/experiment.h"

namespace quest::paper {

struct PlannedRun {
  std::string place;  // of its grid, for messages
  std::string recipe;
  Match settings;  // what all share, the axes', and the seed
  // Below the experiment's: the recipe where there are several, the values of the axes, then seed-N.
  std::filesystem::path folder;
  std::vector<std::string> evaluations;
};

// Seed by seed, so that an early look sees every row and column. What two grids share comes once. Throws
// recipe::RecipeError where two different runs would have the same folder.
[[nodiscard]] std::vector<PlannedRun> planned_runs(std::span<const Grid> grids);

// The grids with other values of an axis, "KEY=VALUE,VALUE", and another number of seeds where that is not 0. Throws
// recipe::RecipeError for a key that no grid has as an axis, which names those there are.
[[nodiscard]] std::vector<Grid> narrowed(std::vector<Grid> grids, std::span<const std::string> only,
                                         std::int64_t seeds);

}  // namespace quest::paper
