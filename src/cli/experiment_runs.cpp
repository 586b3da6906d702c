#include "cli/experiment_runs.h"

#include <algorithm>
#include <stdexcept>

#include "app/usage_error.h"
#include "recipe/fields.h"

namespace quest::cli {
namespace {

constexpr std::string_view kSmall = "-small";

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const auto& experiment : paper::experiments()) names.push_back(experiment.name);
  return names;
}

const paper::Experiment* named(std::string_view name) {
  const auto all = paper::experiments();
  const auto found = std::ranges::find(all, name, &paper::Experiment::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::string experiment_names() {
  std::string names;
  for (const auto& name : known_names()) names += (names.empty() ? "one of " : ", ") + name;
  return names;
}

const paper::Experiment& find_experiment(const std::string& name) {
  if (const auto* found = named(name)) return *found;
  throw app::UsageError("there is no experiment \"" + name + "\"; the nearest is \"" +
                        recipe::nearest(name, known_names()) + "\"; expected " + experiment_names());
}

std::filesystem::path experiment_folder(const paper::Experiment& experiment, const std::filesystem::path& runs,
                                        bool small) {
  return runs / (experiment.name + (small ? std::string(kSmall) : ""));
}

const paper::Experiment* experiment_of(const std::filesystem::path& folder) {
  const auto path = folder.has_filename() ? folder : folder.parent_path();
  auto name = path.filename().string();
  if (name.ends_with(kSmall)) name.resize(name.size() - kSmall.size());
  return named(name);
}

KnownRuns known_runs(const paper::Experiment& experiment, const std::filesystem::path& runs, bool small) {
  const auto read = [&](bool is_small) {
    const auto folder = experiment_folder(experiment, runs, is_small);
    return KnownRuns{folder, paper::runs_of_experiment(experiment, paper::read_runs(folder)), is_small};
  };
  if (small) return read(true);
  auto full = read(false);
  if (!full.runs.runs.empty() || !full.runs.problems.empty()) return full;
  auto other = read(true);
  return other.runs.runs.empty() ? full : other;
}

Comparisons comparisons_of(const paper::Experiment& experiment, const paper::Runs& runs) {
  Comparisons comparisons;
  for (const auto& item : experiment.items) {
    try {
      comparisons.items.push_back(paper::compare(experiment, item, runs.runs));
    } catch (const std::runtime_error& error) {
      comparisons.problems.push_back("our numbers of " + item.label + ": " + error.what());
      comparisons.items.push_back(paper::compare(experiment, item, {}));
    }
  }
  return comparisons;
}

void require_none_left_out(std::size_t problems) {
  if (problems == 0) return;
  throw std::runtime_error("our numbers of " + std::to_string(problems) +
                           " tables or figures were left out, as told above; mend what is named there");
}

}  // namespace quest::cli
