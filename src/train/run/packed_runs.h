#pragma once

// runs.jsonl of a run folder: thousands of tiny runs, a line each.
//
//   {"settings": {"model.formulation": "quest", "seed": "3"}, "status": "finished",
//    "metrics": {"accuracy": 0.93}, "series": {"loss": [2.3, 1.9]}}
//
// `settings` holds what differs from the folder's recipe.toml, as the recipe's own text; `metrics` are those that
// evaluations/best.json of a run with a folder of its own has.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/line_file.h"

namespace quest::train {

inline constexpr const char* kPackedRunsFile = "runs.jsonl";

struct PackedResult {
  std::string status = "finished";
  std::map<std::string, double> metrics;
  nlohmann::ordered_json series = nlohmann::ordered_json::object();  // numbers by epoch, by name
};

struct PackedRunLine {
  std::map<std::string, std::string> settings;
  PackedResult result;
};

struct PackedRunLines {
  std::vector<PackedRunLine> runs;
  std::vector<std::string> problems;  // lines that are no run, each with file, line and reason
};

// Nothing is written. Of lines with the same settings the first counts, and the others are problems, as is a
// last line without an end: it was being written when its process was killed, and PackedRunFile drops it.
[[nodiscard]] PackedRunLines read_packed_runs(const std::filesystem::path& folder);

class PackedRunFile {
 public:
  // Goes on with the whole lines the folder has. The folder must be locked by this process (RunFolder). Throws
  // std::runtime_error, leaving the file as it is, for a line that is no JSON object.
  explicit PackedRunFile(const std::filesystem::path& folder);

  // In the file when this returns: a process that is killed later loses none of them.
  void add(std::span<const PackedRunLine> runs);

 private:
  base::LineFile file_;
};

}  // namespace quest::train
