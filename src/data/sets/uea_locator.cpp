#include "data/sets/uea_locator.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "recipe/fields.h"

namespace quest::data {
namespace {

void require_known_name(const TimeSeriesSource& source) {
  const std::vector<std::string> known(kUeaDataSets.begin(), kUeaDataSets.end());
  if (std::ranges::find(known, source.name) != known.end()) return;
  throw recipe::RecipeError("data.name: there are no files of a data set \"" + source.name +
                           "\"; the nearest known is \"" + recipe::nearest(source.name, known) + "\"\n" +
                           how_to_get_uea(source.name, time_series_folders(source)));
}

}  // namespace

std::vector<std::filesystem::path> time_series_folders(const TimeSeriesSource& source) {
  std::vector<std::filesystem::path> folders;
  if (!source.folder.empty()) folders.emplace_back(source.folder);
  const char* const shared = std::getenv("QUEST_DATA");  // NOLINT(concurrency-mt-unsafe)
  if (shared != nullptr && *shared != '\0') {
    folders.emplace_back(shared);
    folders.push_back(folders.back() / "uea");
  }
  folders.push_back(uea_cache());
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

}  // namespace quest::data
