#pragma once

// An experiment as `quest paper` prints it: its tables with ours beside the paper's numbers, and what is missing.

#include <string>

#include "cli/experiment_runs.h"
#include "terminal/table.h"

namespace quest::cli {

// Which trains what an experiment lacks; empty where nothing of it runs.
[[nodiscard]] std::string command_text(const paper::Experiment& experiment);

void print_experiment(const paper::Experiment& experiment, const KnownRuns& known, const Comparisons& comparisons,
                      terminal::TableStyle style);

}  // namespace quest::cli
