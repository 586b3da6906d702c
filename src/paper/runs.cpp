#include "paper/runs.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/json_number.h"
#include "recipe/settings.h"
#include "train/run/evaluation_file.h"
#include "train/run/packed_runs.h"
#include "train/run/run_folder.h"

namespace quest::paper {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Problems = std::vector<std::string>;

[[noreturn]] void fail(const fs::path& file, const std::string& problem) {
  throw std::runtime_error("\"" + file.string() + "\": " + problem);
}

// Those in the folder that pass, by name.
template <typename Passes>
std::vector<fs::path> entries_of(const fs::path& folder, Problems& problems, const Passes& passes) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (passes(*entry)) paths.push_back(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    problems.push_back("\"" + folder.string() + "\" cannot be listed: " + error.message());
  }
  std::ranges::sort(paths);
  return paths;
}

// What a run leaves, and nothing else; null where there is none of it.
const char* rest_of_run(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {train::kRecipeFile, train::kPackedRunsFile, train::kMetricsFile, train::kEvaluationFolder}) {
    if (fs::exists(folder / name, ignored)) return name;
  }
  return nullptr;
}

void find_runs(const fs::path& folder, std::vector<fs::path>& found, Problems& problems) {
  std::error_code ignored;
  if (fs::exists(folder / train::kRunFile, ignored)) {
    found.push_back(folder);
    return;
  }
  if (const auto* rest = rest_of_run(folder)) {
    problems.push_back("\"" + folder.string() + "\": expected \"" + train::kRunFile + "\" beside \"" + rest +
                       "\", as every run has it, and it is missing; remove the folder, or train into it again");
    return;
  }
  // Links are not followed: they may lead in a circle.
  const auto is_folder = [&](const fs::directory_entry& entry) {
    return !entry.is_symlink(ignored) && entry.is_directory(ignored);
  };
  for (const auto& below : entries_of(folder, problems, is_folder)) find_runs(below, found, problems);
}

std::string text_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file, "was expected in the folder of a run and cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string text_member(const fs::path& file, const Json& content, const char* key, const std::string& fallback) {
  const auto found = content.find(key);
  if (found == content.end() || found->is_null()) return fallback;
  if (!found->is_string()) fail(file, std::string(key) + ": expected a text, got " + found->dump());
  return found->get<std::string>();
}

std::map<std::string, std::string> read_settings(const fs::path& file) {
  std::map<std::string, std::string> settings;
  for (const auto& setting : recipe::settings_of_toml(text_in(file), file.string())) {
    const auto* words = std::get_if<std::string>(&setting.value);
    settings[setting.key] = words != nullptr ? *words : recipe::text_of(setting.value);
  }
  if (!settings.contains("task")) {
    fail(file,
         "expected every key of the run's recipe and found no \"task\"; remove the folder, or train into it again");
  }
  return settings;
}

std::map<std::string, double> read_metrics(const fs::path& file) {
  const Json content = Json::parse(text_in(file), nullptr, false);
  if (!content.is_object()) fail(file, "expected a JSON object");
  const auto name = text_member(file, content, "evaluation", "");
  if (name != file.stem()) fail(file, "expected the evaluation \"" + file.stem().string() + "\", got \"" + name + "\"");
  if (!content.contains("metrics") || !content["metrics"].is_object()) fail(file, "expected \"metrics\", an object");
  std::map<std::string, double> metrics;
  for (const auto& [key, value] : content["metrics"].items()) {
    if (!value.is_number() && !value.is_null()) {
      fail(file, "metrics: " + key + ": expected a number or null, got " + value.dump());
    }
    metrics[key] = base::number_or_nan(value);
  }
  return metrics;
}

void read_evaluations(Run& run, Problems& problems) {
  const auto is_evaluation = [](const fs::directory_entry& entry) { return entry.path().extension() == ".json"; };
  for (const auto& file : entries_of(run.folder / train::kEvaluationFolder, problems, is_evaluation)) {
    try {
      run.evaluations[file.stem().string()] = read_metrics(file);
    } catch (const std::runtime_error& error) {
      problems.emplace_back(error.what());
    }
  }
}

Run read_run(const fs::path& folder) {
  const auto file = folder / train::kRunFile;
  const auto content = train::read_run_file(folder);
  return {.folder = folder,
          .recipe = text_member(file, content, "recipe", ""),
          .task = text_member(file, content, "task", ""),
          .settings = read_settings(folder / train::kRecipeFile),
          .status = text_member(file, content, "status", "never begun"),
          .evaluations = {},
          .series = {}};
}

void read_packed(const Run& shared, Runs& runs) {
  auto lines = train::read_packed_runs(shared.folder);
  std::ranges::move(lines.problems, std::back_inserter(runs.problems));
  for (auto& line : lines.runs) {
    Run run = shared;
    for (auto& [key, value] : line.settings) run.settings[key] = std::move(value);
    run.status = std::move(line.result.status);
    run.evaluations[train::kBestEvaluation] = std::move(line.result.metrics);
    run.series = std::move(line.result.series);
    runs.runs.push_back(std::move(run));
  }
}

}  // namespace

Runs read_runs(const fs::path& folder) {
  Runs runs;
  std::vector<fs::path> folders;
  find_runs(folder, folders, runs.problems);
  for (const auto& path : folders) {
    try {
      auto run = read_run(path);
      if (fs::exists(path / train::kPackedRunsFile)) {
        read_packed(run, runs);
      } else {
        read_evaluations(run, runs.problems);
        runs.runs.push_back(std::move(run));
      }
    } catch (const std::exception& error) {
      runs.problems.emplace_back(error.what());
    }
  }
  return runs;
}

bool has_ended_well(std::string_view status) { return status == "finished" || status == "stopped early"; }

bool has_ended(std::string_view status) { return has_ended_well(status) || status.starts_with("crashed"); }

}  // namespace quest::paper
