#pragma once

// Where the time-series experiment finds its data. Needs no torch.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/sets/data_set.h"
#include "data/sets/uea_archive.h"

namespace quest::data {

struct TimeSeriesSource {
  std::string name = "JapaneseVowels";  // empty: the only data set in the folder
  std::string folder{};
};

// The source's own first, then those that all data sets share: the files' names say which set they are.
[[nodiscard]] std::vector<std::filesystem::path> time_series_folders(const TimeSeriesSource& source);

[[nodiscard]] std::optional<UeaFiles> find_time_series(const TimeSeriesSource& source);

// Throws recipe::RecipeError for a name that is no data set's, which names the nearest, and std::runtime_error that
// says which files are wanted, where they were looked for and how to get them.
[[nodiscard]] UeaFiles require_time_series(const TimeSeriesSource& source);

// Those of kUeaDataSets.
[[nodiscard]] std::vector<DataSet> uea_sets();

}  // namespace quest::data
