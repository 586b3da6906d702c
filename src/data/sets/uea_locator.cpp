#include "data/sets/uea_locator.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "data/sets/locator.h"
#include "recipe/fields.h"

namespace quest::data {
namespace {

// As the archive's own table has it (Bagnall et al. 2018); `steps` of the longest case.
struct Extent {
  int train;
  int test;
  int channels;
  int steps;
  int classes;
};

constexpr std::array<Extent, kUeaDataSets.size()> kExtents = {{{261, 263, 3, 1751, 4},
                                                               {5890, 3524, 144, 62, 2},
                                                               {150, 850, 3, 152, 26},
                                                               {204, 205, 61, 405, 2},
                                                               {270, 370, 12, 29, 9},
                                                               {267, 173, 963, 144, 7},
                                                               {268, 293, 6, 896, 2},
                                                               {200, 180, 7, 1152, 2},
                                                               {6599, 2199, 13, 93, 10},
                                                               {120, 320, 3, 315, 8}}};

void require_known_name(const TimeSeriesSource& source) {
  const std::vector<std::string> known(kUeaDataSets.begin(), kUeaDataSets.end());
  if (std::ranges::find(known, source.name) != known.end()) return;
  throw recipe::RecipeError("data.name: there are no files of a data set \"" + source.name +
                            "\"; the nearest known is \"" + recipe::nearest(source.name, known) + "\"\n" +
                            how_to_get_uea(source.name, time_series_folders(source)));
}

std::string summary_of(const Extent& extent) {
  const auto text = [](int number) { return std::to_string(number); };
  return text(extent.train) + " cases to train and " + text(extent.test) + " to test, " + text(extent.channels) +
         " channels, up to " + text(extent.steps) + " steps, " + text(extent.classes) + " classes";
}

// The archive does not say how large its files are.
std::string size_of(const Extent& extent) {
  const double numbers = static_cast<double>(extent.train + extent.test) * extent.channels * extent.steps;
  constexpr double kMillion = 1e6;
  const int tenths = static_cast<int>(10.0 * numbers / kMillion + 0.5);
  auto number = std::to_string(tenths / 10);
  if (tenths < 100) number.append(1, '.').append(std::to_string(tenths % 10));
  return number + " million numbers";
}

DataSet described(std::string_view name, const Extent& extent) {
  const std::string own(name);
  return {.name = own,
          .summary = summary_of(extent),
          .licence = "none stated; cite Bagnall et al. 2018",
          .size = size_of(extent),
          .how_to_get = source_of_uea(name),
          .find = [own]() -> std::optional<std::filesystem::path> {
            const auto files = find_time_series({.name = own});
            if (!files) return std::nullopt;
            return files->train.parent_path();
          }};
}

}  // namespace

std::vector<std::filesystem::path> time_series_folders(const TimeSeriesSource& source) {
  static const std::vector<std::string> inside = {"uea"};
  std::vector<std::filesystem::path> folders;
  if (!source.folder.empty()) folders = places_in(source.folder, inside);
  std::ranges::copy(shared_places(inside), std::back_inserter(folders));
  return folders;
}

std::optional<UeaFiles> find_time_series(const TimeSeriesSource& source) {
  if (source.name.empty()) return find_uea_in(source.folder);
  return find_uea(source.name, time_series_folders(source));
}

UeaFiles require_time_series(const TimeSeriesSource& source) {
  if (auto files = find_time_series(source)) return *files;
  if (source.name.empty()) {
    throw std::runtime_error("data.folder: expected the files NAME_TRAIN.ts and NAME_TEST.ts of one data set in \"" +
                             source.folder + "\"; if it holds several, name one with data.name");
  }
  require_known_name(source);
  throw std::runtime_error(how_to_get_uea(source.name, time_series_folders(source)));
}

std::vector<DataSet> uea_sets() {
  std::vector<DataSet> sets;
  for (std::size_t i = 0; i < kUeaDataSets.size(); ++i) sets.push_back(described(kUeaDataSets[i], kExtents[i]));
  return sets;
}

}  // namespace quest::data
