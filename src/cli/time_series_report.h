#pragma once

// What `quest paper timeseries` prints.

#include <span>
#include <string>

#include "domains/timeseries/time_series_results.h"

namespace quest::cli {

// Every data set, protocol, head and formulation that was trained.
[[nodiscard]] std::string time_series_results_table(std::span<const timeseries::TimeSeriesSummary> summaries);

// The paper's tables, ours beside every number.
[[nodiscard]] std::string time_series_paper_tables(std::span<const timeseries::TimeSeriesSummary> summaries);

// One item of the paper in a word: the mean over our data sets, and the paper's over the same ones. Empty before the
// first training.
[[nodiscard]] std::string time_series_headline(std::string_view label,
                                               std::span<const timeseries::TimeSeriesSummary> summaries);

[[nodiscard]] std::string time_series_json(std::span<const timeseries::TimeSeriesSummary> summaries);

}  // namespace quest::cli
