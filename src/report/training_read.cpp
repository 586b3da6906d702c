#include "report/training_read.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/json_number.h"
#include "base/line_file.h"
#include "train/run/packed_runs.h"
#include "train/run/run_folder.h"
#include "train/run/run_log.h"

namespace quest::report {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// Calls `read` and names the file in what it throws.
template <class Read>
void read_file(const std::filesystem::path& file, const Read& read) {
  const auto fail = [&file](const std::string& why) {
    throw std::runtime_error("\"" + file.string() + "\" was expected to be of a training run and is not: " + why);
  };
  try {
    read();
  } catch (const nlohmann::json::exception& error) {
    fail(error.what());
  } catch (const std::invalid_argument& error) {
    fail(error.what());
  }
}

Evaluation evaluation_from_json(const Json& line) {
  Evaluation evaluation{.step = line.at("step").get<std::int64_t>(), .epoch = base::number_or_nan(line.at("epoch"))};
  for (const auto& [name, value] : line.items()) {
    if (name != "kind" && name != "step" && name != "epoch") evaluation.metrics[name] = base::number_or_nan(value);
  }
  return evaluation;
}

void read_metrics(TrainingRun& run, const std::filesystem::path& file) {
  for (const Json& line : base::read_lines(file)) {
    if (line.at("kind") == train::kTrainKind) run.steps.push_back(train::step_report_from_json(line));
    if (line.at("kind") == train::kEvaluationKind) run.evaluations.push_back(evaluation_from_json(line));
  }
}

void read_stats(TrainingRun& run, const std::filesystem::path& file) {
  train::LayerExplosionDetector detector;
  for (const Json& line : base::read_lines(file)) {
    run.layers.push_back(train::layer_record_from_json(line));
    for (auto& warning : detector.add(run.layers.back())) run.warnings.push_back(std::move(warning));
  }
}

void read_crash(TrainingRun& run, const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return;
  const Json json = Json::parse(text_of(file));
  Crash crash{.iteration = json.at("iteration").get<std::int64_t>(), .reason = json.at("reason").get<std::string>()};
  for (const Json& line : json.at("steps")) crash.steps.push_back(train::step_report_from_json(line));
  run.crash = std::move(crash);
}

}  // namespace

std::string TrainingRun::told(const std::string& key) const {
  if (!description.contains(key) || description.at(key).is_null()) return "–";
  const Json& value = description.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_training_run(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / train::kRunFile) && !std::filesystem::exists(folder / train::kPackedRunsFile);
}

TrainingRun read_training_run(const std::filesystem::path& folder) {
  TrainingRun run{.path = folder,
                  .description = train::read_run_file(folder),
                  .recipe = text_of(folder / train::kRecipeFile),
                  .evaluated = read_evaluations(folder),
                  .figures = read_figures(folder)};
  const auto metrics = folder / train::kMetricsFile;
  const auto stats = folder / train::kStatsFile;
  const auto crash = folder / train::kCrashFile;
  read_file(metrics, [&] { read_metrics(run, metrics); });
  read_file(stats, [&] { read_stats(run, stats); });
  read_file(crash, [&] { read_crash(run, crash); });
  return run;
}

}  // namespace quest::report
