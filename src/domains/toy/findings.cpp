#include "domains/toy/findings.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "domains/toy/spurious_result.h"
#include "domains/toy/spurious_task.h"
#include "quest/formulation.h"

namespace quest::toy {
namespace {

std::string setting(const paper::Run& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? "" : found->second;
}

std::optional<double> number_setting(const paper::Run& run, const std::string& key) {
  const std::string text = setting(run, key);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Outcome> outcome_in(const std::map<std::string, double>& metrics) {
  for (const Outcome outcome : kOutcomes) {
    const auto found = metrics.find(std::string(metric_of(outcome)));
    if (found != metrics.end() && found->second == 1.0) return outcome;
  }
  return std::nullopt;
}

std::optional<Finding> finding_of(const paper::Run& run) {
  const auto best = run.evaluations.find("best");
  const auto learning_rate = number_setting(run, "optimizer.lr");
  const auto weight_decay = number_setting(run, "optimizer.weight_decay");
  const auto realization = number_setting(run, "data.realization");
  if (run.task != kTaskName || best == run.evaluations.end()) return std::nullopt;
  if (!learning_rate || !weight_decay || !realization) return std::nullopt;
  const auto& metrics = best->second;
  const auto outcome = outcome_in(metrics);
  if (!outcome || !metrics.contains(kTrainAccuracy) || !metrics.contains(kTestAccuracy)) return std::nullopt;
  return Finding{.learning_rate = *learning_rate,
                 .weight_decay = *weight_decay,
                 .realization = *realization,
                 .outcome = *outcome,
                 .train_accuracy = metrics.at(kTrainAccuracy),
                 .test_accuracy = metrics.at(kTestAccuracy),
                 .series = &run.series};
}

}  // namespace

std::vector<Kind> kinds_of(std::span<const paper::Run> runs) {
  std::map<std::pair<std::string, std::string>, std::vector<Finding>> findings;  // by formulation and wiring
  std::set<std::string> wirings;
  for (const paper::Run& run : runs) {
    const auto finding = finding_of(run);
    if (!finding) continue;
    const auto wiring = setting(run, "model.wiring");
    wirings.insert(wiring);
    findings[{setting(run, "model.formulation"), wiring}].push_back(*finding);
  }
  std::vector<Kind> kinds;
  for (const Formulation& formulation : all_formulations()) {
    const std::string name(formulation.name);
    for (const std::string& wiring : wirings) {
      const auto found = findings.find({name, wiring});
      if (found == findings.end()) continue;
      kinds.push_back({wirings.size() == 1 ? name : name + ", " + wiring, std::move(found->second)});
    }
  }
  return kinds;
}

double success_rate(std::span<const Finding> findings) {
  const auto correct = std::ranges::count(findings, Outcome::correct, &Finding::outcome);
  return findings.empty() ? 0.0 : static_cast<double>(correct) / static_cast<double>(findings.size());
}

}  // namespace quest::toy
