#pragma once

// The paper's tables of the time-series experiment.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quest::timeseries {

struct TimeSeriesColumn {
  std::string_view head;
  std::string_view formulation;
  std::string_view title;
};

struct TimeSeriesTable {
  std::string_view label;  // as in paper_items()
  std::vector<TimeSeriesColumn> columns;
};

[[nodiscard]] std::span<const TimeSeriesTable> time_series_tables();

// In percent; nothing where the paper has no such number.
[[nodiscard]] std::optional<double> paper_accuracy(std::string_view data_set, std::string_view head,
                                                   std::string_view formulation);

}  // namespace quest::timeseries
