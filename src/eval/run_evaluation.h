#pragma once

// Does one evaluation to a task whose model has the weights in question, and writes what it found into the run's
// folder.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "eval/evaluation.h"
#include "recipe/settings.h"

namespace quest::eval {

struct Request {
  std::string name;
  std::vector<recipe::Setting> settings = {};  // of NAME.key
  // Of the run; empty: nothing is written, and nothing kept where it is stopped.
  std::filesystem::path run = {};
  // What is evaluated, such as the file of the weights: written before the numbers.
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
};

// Throws std::invalid_argument for a name that is not known; it names the nearest, and all.
[[nodiscard]] const EvaluationEntry& find_evaluation(const std::string& name, std::span<const EvaluationEntry> known);

// Takes those out of `settings` that are of an evaluation: NAME.key.
[[nodiscard]] std::vector<recipe::Setting> take_settings(std::vector<recipe::Setting>& settings, std::string_view name);

// In every process the same. `subject.scratch` is chosen here where there is a run. Throws what
// find_evaluation throws; std::invalid_argument for a task that lacks what the evaluation needs; recipe::RecipeError
// for settings; Stopped.
[[nodiscard]] Findings run_evaluation(const Request& request, std::span<const EvaluationEntry> known,
                                      const Subject& subject, const Callbacks& callbacks = {});

}  // namespace quest::eval
