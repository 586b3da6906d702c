#include "data/sets/locator.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace quest::data {
namespace {

std::filesystem::path folder_named_by(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

// "a, b and c"
std::string listed(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " and ";
    text += words[i];
  }
  return text;
}

std::string problem_of(const SetFiles& set, const std::filesystem::path& place) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(place, ignored)) return "no such folder";
  std::vector<std::string> lacking;
  std::ranges::copy_if(set.files, std::back_inserter(lacking),
                       [&](const std::string& file) { return !find_file(place, file); });
  return "lacks " + (lacking.size() == set.files.size() ? "all of them" : listed(lacking));
}

}  // namespace

bool is_folder_name(const std::string& text) {
  return std::filesystem::is_directory(text) || text.find('/') != std::string::npos;
}

std::filesystem::path user_cache() {
  const auto cache = folder_named_by("XDG_CACHE_HOME");
  return (cache.empty() ? folder_named_by("HOME") / ".cache" : cache) / "quest";
}

std::vector<std::filesystem::path> places_in(const std::filesystem::path& folder, std::span<const std::string> inside) {
  std::vector<std::filesystem::path> places = {folder};
  for (const auto& name : inside) places.push_back(folder / name);
  return places;
}

std::vector<std::filesystem::path> shared_places(std::span<const std::string> inside,
                                                 std::span<const std::filesystem::path> packages) {
  std::vector<std::filesystem::path> places;
  for (const auto& root : {folder_named_by("QUEST_DATA"), user_cache()}) {
    if (!root.empty()) std::ranges::copy(places_in(root, inside), std::back_inserter(places));
  }
  places.insert(places.end(), packages.begin(), packages.end());
  return places;
}

std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, std::string_view name) {
  std::error_code ignored;
  for (const char* ending : {"", ".xz", ".gz"}) {
    auto path = folder / std::string(name).append(ending);
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

std::optional<std::vector<std::filesystem::path>> find_set(const SetFiles& set,
                                                           std::span<const std::filesystem::path> places) {
  for (const auto& place : places) {
    std::vector<std::filesystem::path> found;
    for (const auto& file : set.files) {
      if (auto path = find_file(place, file)) found.push_back(std::move(*path));
    }
    if (found.size() == set.files.size()) return found;
  }
  return std::nullopt;
}

std::string missing_text(const SetFiles& set, std::span<const std::filesystem::path> places) {
  std::string text = "the data set " + set.name + " was not found. Wanted are " + listed(set.files) +
                     ", plain or packed as .xz or .gz, in one of:";
  for (const auto& place : places) {
    text += "\n  " + std::filesystem::absolute(place).string() + " (" + problem_of(set, place) + ")";
  }
  return text + "\nTo get it: " + set.how_to_get;
}

std::vector<std::filesystem::path> require_set(const SetFiles& set, std::span<const std::filesystem::path> places) {
  if (auto files = find_set(set, places)) return *files;
  throw std::runtime_error(missing_text(set, places));
}

}  // namespace quest::data
