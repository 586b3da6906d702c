#pragma once

// The page of the time-series experiment: every training of `quest paper timeseries`, beside the paper's tables.

#include <span>

#include "experiments/time_series_results.h"
#include "report/report.h"

namespace quest::report {

// Throws std::runtime_error when no training has ended.
[[nodiscard]] Report time_series_report(std::span<const experiments::TimeSeriesTraining> trainings);

}  // namespace quest::report
