#include "train/run/run_log.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_number.h"

namespace quest::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, double StepReport::*>, 5> kStepFigures = {{
    {"epoch", &StepReport::epoch},
    {"loss", &StepReport::loss},
    {"lr", &StepReport::lr},
    {"grad_norm", &StepReport::grad_norm},
    {"samples_per_second", &StepReport::samples_per_second},
}};

const std::string kPartPrefix = "loss_";

std::vector<Json> lines_up_to(const std::filesystem::path& file, std::int64_t step) {
  if (step == 0) return {};
  auto lines = base::read_lines(file);
  std::erase_if(lines, [step](const Json& line) { return line.at("step").get<std::int64_t>() > step; });
  return lines;
}

}  // namespace

Json to_json(const StepReport& report) {
  Json line = {{"kind", kTrainKind}, {"step", report.step}};
  for (const auto& [name, figure] : kStepFigures) line[name] = base::short_number(report.*figure);
  for (const auto& [name, value] : report.parts) line[kPartPrefix + name] = base::short_number(value);
  return line;
}

StepReport step_report_from_json(const Json& line) {
  StepReport report{.step = line.at("step").get<std::int64_t>()};
  for (const auto& [name, figure] : kStepFigures) report.*figure = base::number_or_nan(line.at(name));
  for (const auto& [name, value] : line.items()) {
    if (name.starts_with(kPartPrefix)) report.parts[name.substr(kPartPrefix.size())] = base::number_or_nan(value);
  }
  return report;
}

RunLog::RunLog(const RunFolder& folder, std::int64_t after_step)
    : folder_(folder.path()),
      metrics_(folder / kMetricsFile, lines_up_to(folder / kMetricsFile, after_step)),
      stats_(folder / kStatsFile, lines_up_to(folder / kStatsFile, after_step)),
      events_(folder.path(), after_step) {
  std::filesystem::remove(folder / kCrashFile);
  for (const Json& line : base::read_lines(folder / kMetricsFile)) {
    if (line.at("kind") == kTrainKind) steps_.push_back(step_report_from_json(line));
  }
  for (const Json& line : base::read_lines(folder / kStatsFile)) layers_.push_back(layer_record_from_json(line));
  forget_before(after_step - kRememberedSteps);
}

void RunLog::forget_before(std::int64_t step) {
  while (!steps_.empty() && steps_.front().step <= step) steps_.pop_front();
  while (!layers_.empty() && layers_.front().step <= step) layers_.pop_front();
}

void RunLog::add_step(const StepReport& report, bool log_it) {
  steps_.push_back(report);
  forget_before(report.step - kRememberedSteps);
  if (!log_it) return;
  metrics_.append(to_json(report));
  for (const auto& [name, figure] : kStepFigures) {
    events_.add_scalar("train/" + std::string(name), report.*figure, report.step);
  }
  for (const auto& [name, value] : report.parts) events_.add_scalar("train/" + kPartPrefix + name, value, report.step);
}

void RunLog::add_evaluation(std::int64_t step, double epoch, const std::map<std::string, double>& metrics) {
  Json line = {{"kind", kEvaluationKind}, {"step", step}, {"epoch", base::short_number(epoch)}};
  for (const auto& [name, value] : metrics) {
    line[name] = base::short_number(value);
    events_.add_scalar("eval/" + name, value, step);
  }
  metrics_.append(line);
}

// TensorBoard gets the largest of a layer's heads, and all of them as a distribution.
void RunLog::add_layer(const LayerRecord& record) {
  layers_.push_back(record);
  stats_.append(to_json(record));
  for (const auto& [name, figure] : kHeadFigures) {
    const std::string tag = std::string(name) + "/" + record.layer;
    events_.add_scalar("attention_" + tag, std::ranges::max(record.*figure), record.step);
    events_.add_histogram("attention_heads_" + tag, record.*figure, record.step);
  }
  for (const auto& [name, norms] : kNormFigures) {
    for (std::size_t i = 0; i < kNormQuantiles.size(); ++i) {
      const auto largest = std::ranges::max(record.*norms, {}, [i](const auto& quantiles) { return quantiles[i]; });
      const auto percent = std::lround(100.0 * kNormQuantiles[i]);
      events_.add_scalar("attention_" + std::string(name) + "_" + std::to_string(percent) + "/" + record.layer,
                         largest[i], record.step);
    }
  }
}

void RunLog::write_crash(std::int64_t iteration, const std::string& reason) const {
  Json steps = Json::array();
  for (const StepReport& report : steps_) steps.push_back(to_json(report));
  Json stats = Json::array();
  for (const LayerRecord& record : layers_) stats.push_back(to_json(record));
  const Json crash = {
      {"iteration", iteration}, {"reason", reason}, {"steps", std::move(steps)}, {"stats", std::move(stats)}};
  base::write_atomically(folder_ / kCrashFile, crash.dump() + "\n");
}

}  // namespace quest::train
