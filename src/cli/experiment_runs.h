#pragma once

// Where an experiment's runs lie, and which there are.

#include <filesystem>
#include <string>

#include "paper/comparison.h"
#include "paper/experiment.h"
#include "paper/runs.h"

namespace quest::cli {

// "one of attacks, crossvit, …"
[[nodiscard]] std::string experiment_names();

// Throws UsageError that names the nearest one.
[[nodiscard]] const paper::Experiment& find_experiment(const std::string& name);

// RUNS/NAME, or RUNS/NAME-small.
[[nodiscard]] std::filesystem::path experiment_folder(const paper::Experiment& experiment,
                                                      const std::filesystem::path& runs, bool small);

// The experiment whose runs lie in a folder, by the folder's name; null where there is none.
[[nodiscard]] const paper::Experiment* experiment_of(const std::filesystem::path& folder);

struct KnownRuns {
  std::filesystem::path folder;
  paper::Runs runs;
  bool is_small = false;
};

// Those of the full version, or where there are none, or where it is asked for, of the small one.
[[nodiscard]] KnownRuns known_runs(const paper::Experiment& experiment, const std::filesystem::path& runs, bool small);

}  // namespace quest::cli
