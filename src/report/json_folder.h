#pragma once

// The JSON files that a run keeps in one folder.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace quest::report {

// Calls `take` for each NAME.json, in the order of the names; none where there is no such folder. What a file makes it
// throw is returned as a line that names the file, what it was expected to be, and the reason.
[[nodiscard]] std::vector<std::string> read_json_folder(
    const std::filesystem::path& folder, const std::string& expected,
    const std::function<void(const std::string& name, const nlohmann::ordered_json& content)>& take);

}  // namespace quest::report
