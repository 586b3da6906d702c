#pragma once

// What runs of any kind found, read from their folders: a run with a folder of its own, and the lines of packed runs,
// look alike. Nothing is written.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace quest::paper {

struct Run {
  std::filesystem::path folder;
  std::string recipe;  // its name, as in run.json
  std::string task;
  std::map<std::string, std::string> settings;  // every key of its recipe.toml; texts without quotes
  std::string status;                           // as in run.json
  // evaluations/NAME.json: numbers by metric, by evaluation; NaN for null. Those of a packed run are of "best".
  std::map<std::string, std::map<std::string, double>> evaluations;
  nlohmann::ordered_json series;  // of a packed run: numbers by epoch; else null
};

struct Runs {
  std::vector<Run> runs;              // by path, then in the order of the file
  std::vector<std::string> problems;  // what could not be read and was left out, with file and reason
};

// Every run at or below the folder, but not below a run; none where there is no such folder. An evaluation that cannot
// be read is left out of its run. A folder with parts of a run and without its run.json is a problem.
[[nodiscard]] Runs read_runs(const std::filesystem::path& folder);

// Whether a run with that status is done, and well.
[[nodiscard]] bool has_ended_well(std::string_view status);
// Whether it is done at all: a crash is a result too.
[[nodiscard]] bool has_ended(std::string_view status);

}  // namespace quest::paper
