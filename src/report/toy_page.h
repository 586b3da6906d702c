#pragma once

// The page of one or more runs of the spurious-attention experiment.

#include <span>

#include "experiments/toy_read.h"
#include "report/report.h"

namespace quest::report {

// Throws std::runtime_error when there is no run, or one without a finished training.
[[nodiscard]] Report toy_report(std::span<const experiments::ToyRun> runs);

}  // namespace quest::report
