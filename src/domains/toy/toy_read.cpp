#include "domains/toy/toy_read.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "domains/toy/toy_folder.h"

namespace quest::toy {
namespace {

Wiring wiring_from_name(const std::string& name) {
  for (const Wiring wiring : {Wiring::pre_norm, Wiring::algorithm}) {
    if (wiring_name(wiring) == name) return wiring;
  }
  throw std::invalid_argument("wiring: expected pre-norm or algorithm, got " + name);
}

nlohmann::json parsed_settings_file(const std::filesystem::path& folder) {
  std::ifstream stream(folder / kToySettingsFile);
  return stream ? nlohmann::json::parse(stream, nullptr, false) : nlohmann::json();
}

bool is_toy_settings(const nlohmann::json& content) {
  return content.is_object() && content.contains("settings") && content.value("experiment", "") == "toy";
}

}  // namespace

std::string ToyRun::wiring_text() const {
  const std::string name(wiring_name(settings.wiring));
  return final_norm == has_final_norm(settings.wiring) ? name : name + " without final norm";
}

ToySettings settings_from_json(const nlohmann::json& settings) {
  const auto take = [&settings](const char* key, auto& value) { settings.at(key).get_to(value); };
  ToySettings result;
  take("formulations", result.formulations);
  result.wiring = wiring_from_name(settings.at("wiring").get<std::string>());
  take("tokens", result.sizes.tokens);
  take("samples", result.sizes.training_samples);
  take("test_samples", result.sizes.test_samples);
  take("learning_rates", result.learning_rates);
  take("weight_decays", result.weight_decays);
  take("realizations", result.realizations);
  take("initializations", result.initializations);
  take("seed", result.seed);
  take("epochs", result.epochs);
  take("batch", result.batch);
  check(result);
  return result;
}

std::vector<std::filesystem::path> toy_runs_in(const std::filesystem::path& folder) {
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> runs;
  const auto add = [&runs](const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::file_size(path / kToyResultsFile, error) == 0 || error) return;
    if (!is_toy_settings(parsed_settings_file(path))) return;
    runs.emplace_back(std::filesystem::last_write_time(path / kToyResultsFile), path);
  };
  add(folder);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) add(entry.path());
  std::ranges::sort(runs, std::ranges::greater());
  std::vector<std::filesystem::path> paths;
  paths.reserve(runs.size());
  for (auto& [time, path] : runs) paths.push_back(std::move(path));
  return paths;
}

ToyRun read_toy_run(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw std::runtime_error("\"" + folder.string() +
                             "\" was expected to be the folder of a run and is not there; `quest toy` writes runs/toy");
  }
  const auto fail = [&folder](const std::string& why) {
    throw std::runtime_error("\"" + (folder / kToySettingsFile).string() +
                             "\" was expected to hold the settings of a run and does not (" + why +
                             "); name the folder that `quest toy --run` was given");
  };
  if (!std::filesystem::exists(folder / kToySettingsFile)) fail("no such file");
  const auto content = parsed_settings_file(folder);
  if (!is_toy_settings(content)) fail("neither experiment nor settings of this program");
  ToyRun run{.path = folder,
             .program = content.value("program", ""),
             .final_norm = content.value(kToyFinalNorm, nlohmann::json(false)) == true};
  try {
    run.settings = settings_from_json(content.at("settings"));
  } catch (const nlohmann::json::exception& error) {
    fail(error.what());
  } catch (const std::invalid_argument& error) {
    fail(error.what());
  }
  run.results = in_order_of_trainings(run.settings, read_toy_results(folder, run.settings));
  return run;
}

std::vector<ToyResult> read_toy_results(const std::filesystem::path& folder, const ToySettings& settings) {
  const auto file = folder / kToyResultsFile;
  std::ifstream stream(file);
  const auto asked = trainings_of(settings);
  const std::set<ToyTraining> known(asked.begin(), asked.end());
  std::set<ToyTraining> seen;
  std::vector<ToyResult> results;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const auto fail = [&](const std::string& why) {
      throw std::runtime_error("\"" + file.string() + "\", line " + std::to_string(number) +
                               ": expected a finished training, got " + why +
                               ". Nothing was changed; remove that line to have it trained again.");
    };
    try {
      if (stream.eof()) fail("a line without an end");
      auto result = result_from_json(nlohmann::json::parse(line));
      if (!known.contains(result.training)) fail("one that is not part of this run");
      if (!seen.insert(result.training).second) fail("one that an earlier line holds already");
      results.push_back(std::move(result));
    } catch (const nlohmann::json::exception& error) {
      fail(error.what());
    } catch (const std::invalid_argument& error) {
      fail(error.what());
    }
  }
  return results;
}

std::vector<ToyResult> in_order_of_trainings(const ToySettings& settings, std::span<const ToyResult> results) {
  std::map<ToyTraining, const ToyResult*> by_training;
  for (const ToyResult& result : results) by_training[result.training] = &result;
  std::vector<ToyResult> ordered;
  for (const ToyTraining& training : trainings_of(settings)) {
    if (const auto found = by_training.find(training); found != by_training.end()) ordered.push_back(*found->second);
  }
  return ordered;
}

}  // namespace quest::toy
