#pragma once

// Where an experiment's runs lie, and which there are.

#include <filesystem>
#include <string>
#include <vector>

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

// Every item of an experiment, in order. One whose runs lack what it asks for is a problem, and has the paper's numbers
// alone.
struct Comparisons {
  std::vector<paper::Comparison> items;
  std::vector<std::string> problems;
};
[[nodiscard]] Comparisons comparisons_of(const paper::Experiment& experiment, const paper::Runs& runs);

// Throws std::runtime_error, once the problems of comparisons have been told, where there were any.
void require_none_left_out(std::size_t problems);

}  // namespace quest::cli
