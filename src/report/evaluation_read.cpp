#include "report/evaluation_read.h"

#include <algorithm>
#include <stdexcept>

#include "base/json_number.h"
#include "report/json_folder.h"
#include "train/run/evaluation_file.h"

namespace quest::report {
namespace {

EvaluationFile evaluation_of(const std::string& name, const nlohmann::ordered_json& content) {
  EvaluationFile evaluation{.name = name, .facts = content};
  const auto& metrics = content.at("metrics");
  if (!metrics.is_object()) throw std::invalid_argument("\"metrics\" was expected to hold a number for each name");
  for (const auto& [metric, value] : metrics.items()) {
    evaluation.metrics.emplace_back(metric, base::number_or_nan(value));
  }
  evaluation.facts.erase("metrics");
  return evaluation;
}

}  // namespace

const double* EvaluationFile::find(const std::string& metric) const {
  const auto found = std::ranges::find(metrics, metric, &std::pair<std::string, double>::first);
  return found == metrics.end() ? nullptr : &found->second;
}

const EvaluationFile* EvaluationFiles::best() const {
  const auto found = std::ranges::find(evaluations, train::kBestEvaluation, &EvaluationFile::name);
  return found == evaluations.end() ? nullptr : &*found;
}

EvaluationFiles read_evaluations(const std::filesystem::path& run) {
  EvaluationFiles files;
  files.problems = read_json_folder(run / train::kEvaluationFolder, "an evaluation",
                                    [&](const std::string& name, const nlohmann::ordered_json& content) {
                                      files.evaluations.push_back(evaluation_of(name, content));
                                    });
  std::ranges::stable_partition(files.evaluations,
                                [](const auto& evaluation) { return evaluation.name == train::kBestEvaluation; });
  return files;
}

}  // namespace quest::report
