#pragma once

// evaluations/*.json of a run, for whoever shows them. A broken file is a problem, not the end.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace quest::report {

struct EvaluationFile {
  std::string name;
  nlohmann::ordered_json facts;                         // what stands beside the numbers, such as step and epoch
  std::vector<std::pair<std::string, double>> metrics;  // in the order of the file; NaN for what was not finite

  // Null where it has no such metric.
  [[nodiscard]] const double* find(const std::string& metric) const;
};

struct EvaluationFiles {
  std::vector<EvaluationFile> evaluations;  // "best" first, the others by name
  std::vector<std::string> problems;        // files that are no evaluation, each with the reason

  // Null where the run has none.
  [[nodiscard]] const EvaluationFile* best() const;
};

[[nodiscard]] EvaluationFiles read_evaluations(const std::filesystem::path& run);

}  // namespace quest::report
