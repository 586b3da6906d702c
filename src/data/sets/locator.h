#pragma once

// Where data sets are looked for, one way for all of them: below $QUEST_DATA, below the user's cache and where packages
// put them; a recipe can name a folder of its own. Needs no torch.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quest::data {

struct SetFiles {
  std::string name;                // as people call the set
  std::vector<std::string> files;  // all in one folder, each as it is or packed as .xz or .gz
  std::string how_to_get;          // a command, or what to put where
};

// Whether what a user names is a folder, there or not, and no set: what holds a slash, or a folder that is there.
[[nodiscard]] bool is_folder_name(const std::string& text);

// $XDG_CACHE_HOME/quest, or ~/.cache/quest.
[[nodiscard]] std::filesystem::path user_cache();

// The folder, and those inside it that copies of the set are known to lie in.
[[nodiscard]] std::vector<std::filesystem::path> places_in(const std::filesystem::path& folder,
                                                           std::span<const std::string> inside);

// Those in $QUEST_DATA, where it is set, and in the cache; then the packages'.
[[nodiscard]] std::vector<std::filesystem::path> shared_places(std::span<const std::string> inside,
                                                               std::span<const std::filesystem::path> packages = {});

// The file as it is, or packed.
[[nodiscard]] std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder,
                                                             std::string_view name);

// All files, in their order, in the first of the places that holds them all.
[[nodiscard]] std::optional<std::vector<std::filesystem::path>> find_set(const SetFiles& set,
                                                                         std::span<const std::filesystem::path> places);

// What is missing, where it was looked for and what is wrong with each place, and how to get it.
[[nodiscard]] std::string missing_text(const SetFiles& set, std::span<const std::filesystem::path> places);

// Throws std::runtime_error with that text.
[[nodiscard]] std::vector<std::filesystem::path> require_set(const SetFiles& set,
                                                             std::span<const std::filesystem::path> places);

}  // namespace quest::data
