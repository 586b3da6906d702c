#include "domains/timeseries/time_series_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "data/sets/uea_archive.h"
#include "domains/timeseries/time_series_task.h"
#include "quest/formulation.h"
#include "base/line_file.h"
#include "train/run/run_folder.h"
#include "train/run/run_log.h"
#include "recipe/settings.h"

namespace quest::timeseries {
namespace {

constexpr std::array<std::string_view, 2> kProtocols = {kPaperProtocol, kHoldoutProtocol};
constexpr int kLevels = 5;  // folders of time_series_path

using Recipe = std::map<std::string, std::string>;

Recipe read_recipe(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream)
    throw std::runtime_error("\"" + file.string() + "\" was expected to hold a run's recipe and is not there");
  Recipe recipe;
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (const auto& setting : recipe::settings_of_toml(text, file.string())) {
    const auto* words = std::get_if<std::string>(&setting.value);
    recipe[setting.key] = words != nullptr ? *words : recipe::text_of(setting.value);
  }
  return recipe;
}

std::string taken(Recipe& recipe, const char* key, const std::filesystem::path& folder) {
  auto found = recipe.extract(key);
  if (found.empty()) {
    throw std::runtime_error("\"" + (folder / train::kRecipeFile).string() + "\" was expected to have the key " + key);
  }
  return found.mapped();
}

// The test split's accuracy where the selecting split's is best; of equals the last, which is the one kept.
std::optional<double> chosen_accuracy(const std::filesystem::path& metrics, const std::string& protocol) {
  const char* const reported = protocol == kPaperProtocol ? kAccuracy : kTestAccuracy;
  std::optional<double> best;
  std::optional<double> result;
  for (const auto& line : base::read_lines(metrics)) {
    if (line.value("kind", "") != train::kEvaluationKind) continue;
    if (!line.contains(kAccuracy) || !line.contains(reported)) {
      throw std::runtime_error("\"" + metrics.string() + "\": an evaluation was expected to have " + reported);
    }
    if (best && line.at(kAccuracy).get<double>() < *best) continue;
    best = line.at(kAccuracy).get<double>();
    result = 100.0 * line.at(reported).get<double>();
  }
  return result;
}

TimeSeriesTraining read_training(const std::filesystem::path& folder) {
  auto recipe = read_recipe(folder / train::kRecipeFile);
  TimeSeriesTraining training{.folder = folder,
                              .setting = {.data_set = taken(recipe, "data.name", folder),
                                          .protocol = taken(recipe, "data.protocol", folder),
                                          .head = taken(recipe, "model.head", folder),
                                          .formulation = taken(recipe, "model.formulation", folder)},
                              .seed = std::stoull(taken(recipe, "seed", folder)),
                              .status = train::read_run_file(folder).value("status", "never begun")};
  recipe.erase("data.folder");
  training.accuracy = chosen_accuracy(folder / train::kMetricsFile, training.setting.protocol);
  training.recipe = std::move(recipe);
  return training;
}

void require_same_recipe(const TimeSeriesTraining& one, const TimeSeriesTraining& other) {
  for (const auto& [key, value] : one.recipe) {
    const auto found = other.recipe.find(key);
    if (found != other.recipe.end() && found->second == value) continue;
    throw std::runtime_error("the trainings in \"" + one.folder.string() + "\" and \"" + other.folder.string() +
                             "\" cannot stand in one table: " + key + " is " + value + " and " +
                             (found == other.recipe.end() ? "missing" : found->second) +
                             "; keep trainings of different recipes in different folders (--runs)");
  }
}

template <class List>
std::ptrdiff_t place_in(const List& list, std::string_view name) {
  return std::ranges::find(list, name) - std::ranges::begin(list);
}

auto order_of(const TimeSeriesSetting& setting) {
  std::vector<std::string_view> formulations;
  for (const auto& formulation : all_formulations()) formulations.push_back(formulation.name);
  return std::tuple(place_in(data::kUeaDataSets, setting.data_set), setting.data_set,
                    place_in(kProtocols, setting.protocol), setting.head, place_in(formulations, setting.formulation));
}

void finish(TimeSeriesSummary& summary) {
  const auto& values = summary.accuracies;
  const auto count = static_cast<double>(values.size());
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  summary.best = std::ranges::max(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.deviation = values.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
}

using Summaries = std::span<const TimeSeriesSummary>;

TimeSeriesComparison::Row row_of(const TimeSeriesTable& table, Summaries summaries, const std::string& data_set,
                                 std::string_view protocol) {
  TimeSeriesComparison::Row row{.data_set = data_set, .protocol = std::string(protocol)};
  for (const auto& column : table.columns) {
    const TimeSeriesSetting wanted{data_set, std::string(protocol), std::string(column.head),
                                   std::string(column.formulation)};
    const auto found = std::ranges::find(summaries, wanted, &TimeSeriesSummary::setting);
    row.cells.push_back({.ours = found == summaries.end() ? nullptr : &*found,
                         .paper = paper_accuracy(data_set, column.head, column.formulation)});
  }
  return row;
}

bool has_any(const TimeSeriesComparison::Row& row) {
  return std::ranges::any_of(row.cells, [](const auto& cell) { return cell.ours != nullptr; });
}

TimeSeriesComparison::Mean mean_of(std::span<const TimeSeriesComparison::Row> rows, std::string_view protocol,
                                   std::size_t columns) {
  TimeSeriesComparison::Mean mean{
      .protocol = std::string(protocol), .ours = std::vector<double>(columns), .paper = std::vector<double>(columns)};
  for (const auto& row : rows) {
    const bool is_whole =
        std::ranges::all_of(row.cells, [](const auto& cell) { return cell.ours != nullptr && cell.paper; });
    if (row.protocol != protocol || !is_whole) continue;
    ++mean.data_sets;
    for (std::size_t i = 0; i < columns; ++i) {
      mean.ours[i] += row.cells[i].ours->mean;
      mean.paper[i] += row.cells[i].paper.value_or(0.0);
    }
  }
  for (auto* sums : {&mean.ours, &mean.paper}) {
    for (double& sum : *sums) sum /= std::max(1, mean.data_sets);
  }
  return mean;
}

}  // namespace

std::filesystem::path time_series_path(const TimeSeriesSetting& setting, std::uint64_t seed) {
  return std::filesystem::path(setting.data_set) / setting.protocol / setting.head / setting.formulation /
         ("seed-" + std::to_string(seed));
}

bool has_ended_well(std::string_view status) { return status == "finished" || status == "stopped early"; }

std::vector<TimeSeriesTraining> read_time_series(const std::filesystem::path& folder) {
  std::vector<TimeSeriesTraining> trainings;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (entry.depth() + 1 < kLevels) continue;
    entry.disable_recursion_pending();
    const bool is_run = entry->path().filename().string().starts_with("seed-") &&
                        std::filesystem::exists(entry->path() / train::kRunFile);
    if (is_run) trainings.push_back(read_training(entry->path()));
  }
  std::ranges::sort(trainings, {}, [](const TimeSeriesTraining& training) {
    return std::tuple(order_of(training.setting), training.seed);
  });
  for (const auto& training : trainings) require_same_recipe(trainings.front(), training);
  return trainings;
}

std::vector<TimeSeriesSummary> summarize(std::span<const TimeSeriesTraining> trainings) {
  std::vector<TimeSeriesSummary> summaries;
  for (const auto& training : trainings) {
    if (!has_ended_well(training.status) || !training.accuracy) continue;
    if (summaries.empty() || summaries.back().setting != training.setting) {
      summaries.push_back({.setting = training.setting});
    }
    summaries.back().accuracies.push_back(*training.accuracy);
  }
  for (auto& summary : summaries) finish(summary);
  return summaries;
}

TimeSeriesComparison compare(const TimeSeriesTable& table, Summaries summaries) {
  std::vector<std::string> data_sets(data::kUeaDataSets.begin(), data::kUeaDataSets.end());
  for (const auto& summary : summaries) {
    if (std::ranges::find(data_sets, summary.setting.data_set) == data_sets.end()) {
      data_sets.push_back(summary.setting.data_set);
    }
  }
  TimeSeriesComparison comparison;
  for (const auto& data_set : data_sets) {
    bool has_row = false;
    for (const auto protocol : kProtocols) {
      auto row = row_of(table, summaries, data_set, protocol);
      if (!has_any(row)) continue;
      has_row = true;
      comparison.rows.push_back(std::move(row));
    }
    if (!has_row) comparison.rows.push_back(row_of(table, summaries, data_set, ""));
  }
  for (const auto protocol : kProtocols) {
    auto mean = mean_of(comparison.rows, protocol, table.columns.size());
    if (mean.data_sets > 0) comparison.means.push_back(std::move(mean));
  }
  return comparison;
}

}  // namespace quest::timeseries
