#pragma once

// The page of one or more runs of the spurious-attention experiment.

#include <span>

#include "domains/toy/toy_read.h"
#include "report/page/report.h"

namespace quest::toy {

// Throws std::runtime_error when there is no run, or one without a finished training.
[[nodiscard]] report::Report toy_report(std::span<const ToyRun> runs);

}  // namespace quest::toy
