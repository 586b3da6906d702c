#pragma once

// What the trainings of the time-series experiment found, read from their run folders: nothing is written.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domains/timeseries/time_series_paper.h"

namespace quest::timeseries {

// What differs between the trainings of one sweep.
struct TimeSeriesSetting {
  std::string data_set;
  std::string protocol;
  std::string head;
  std::string formulation;

  bool operator==(const TimeSeriesSetting&) const = default;
};

// DATASET/PROTOCOL/HEAD/FORMULATION/seed-N
[[nodiscard]] std::filesystem::path time_series_path(const TimeSeriesSetting& setting, std::uint64_t seed);

struct TimeSeriesTraining {
  std::filesystem::path folder;
  TimeSeriesSetting setting;
  std::uint64_t seed = 0;
  std::string status;              // as in run.json
  std::optional<double> accuracy;  // of the test split by the chosen weights, in percent; nothing before an evaluation
  std::map<std::string, std::string> recipe;  // what the sweep does not vary
};

// Whether a run with that status in its run.json is done, and well.
[[nodiscard]] bool has_ended_well(std::string_view status);

struct TimeSeriesSummary {
  TimeSeriesSetting setting;
  std::vector<double> accuracies;  // of the trainings that have ended, by seed; never empty
  double mean = 0.0;
  double deviation = 0.0;  // of a sample: over n - 1; 0 for one training
  double best = 0.0;
};

// Those below a folder, in the order of the paper's tables, of protocols, heads and formulations. Throws
// std::runtime_error that names file and reason, also where two trainings differ in more than the sweep varies.
[[nodiscard]] std::vector<TimeSeriesTraining> read_time_series(const std::filesystem::path& folder);

[[nodiscard]] std::vector<TimeSeriesSummary> summarize(std::span<const TimeSeriesTraining> trainings);

// Ours beside a table of the paper.
struct TimeSeriesComparison {
  struct Cell {
    const TimeSeriesSummary* ours = nullptr;
    std::optional<double> paper;
  };
  struct Row {
    std::string data_set;
    std::string protocol;  // empty where we have nothing
    std::vector<Cell> cells;
  };
  // Over the data sets that have all columns, the paper's numbers over the same ones.
  struct Mean {
    std::string protocol;
    int data_sets = 0;
    std::vector<double> ours;
    std::vector<double> paper;
  };
  std::vector<Row> rows;
  std::vector<Mean> means;
};

// Refers to the summaries.
[[nodiscard]] TimeSeriesComparison compare(const TimeSeriesTable& table, std::span<const TimeSeriesSummary> summaries);

}  // namespace quest::timeseries
