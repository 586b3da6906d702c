#pragma once

// Trains what an experiment lacks: a program each for runs with folders of their own, all in this one for packed runs.
// It may be stopped and started again.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "paper/sweep.h"

namespace quest::app {

struct SweepOptions {
  std::filesystem::path folder;          // of the experiment
  std::vector<std::string> assignments;  // for all runs, as --set
  std::string device = "auto";
  int jobs = 0;  // runs at a time; 0: one a core, or one on a GPU
};

// Runs whose data is not at hand, and runs that fail, are told and left out; returns how many failed. Throws
// recipe::RecipeError before anything is trained, UsageError, or Interrupted, which says how to go on.
std::size_t run_sweep(std::span<const paper::PlannedRun> runs, const SweepOptions& options);

}  // namespace quest::app
