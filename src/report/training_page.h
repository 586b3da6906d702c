#pragma once

// The page of one or more training runs.

#include <span>

#include "report/page/report.h"
#include "report/training_read.h"

namespace quest::report {

// Throws std::runtime_error when there is no run, one without a logged step, or more runs than there are colours.
[[nodiscard]] Report training_report(std::span<const TrainingRun> runs);

}  // namespace quest::report
