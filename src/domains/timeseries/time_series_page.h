#pragma once

// The page of the time-series experiment: every training of `quest paper timeseries`, beside the paper's tables.

#include <span>

#include "domains/timeseries/time_series_results.h"
#include "report/page/report.h"

namespace quest::timeseries {

// Throws std::runtime_error when no training has ended.
[[nodiscard]] report::Report time_series_report(std::span<const TimeSeriesTraining> trainings);

}  // namespace quest::timeseries
