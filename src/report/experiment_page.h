#pragma once

// The page of an experiment of the paper: its tables with ours beside them, every run as a dot, and what went wrong.

#include <vector>

#include "paper/experiment.h"
#include "paper/runs.h"
#include "report/page/report.h"

namespace quest::report {

// The runs are those that paper::runs_of_experiment gives; the figures are what their domain adds. Throws
// std::runtime_error when no run has ended.
[[nodiscard]] Report experiment_report(const paper::Experiment& experiment, const paper::Runs& runs,
                                       std::vector<Figure> figures_of_domain);

}  // namespace quest::report
