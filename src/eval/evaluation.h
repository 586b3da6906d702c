#pragma once

// Something done to a trained run that gives numbers and figures: evaluations/NAME.json and figures/*.json of the run.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metrics.h"
#include "recipe/fields.h"
#include "train/distributed/communicator.h"
#include "train/engine/recipe.h"
#include "train/engine/task.h"

namespace quest::eval {

// What is evaluated: a task whose model has the weights in question, in evaluation mode.
struct Subject {
  train::Task& task;
  const train::Recipe& recipe;
  train::Communicator& processes;
  // Where an evaluation may keep parts it has finished, so that it goes on after a stop; empty: nowhere.
  std::filesystem::path scratch;
};

struct Callbacks {
  std::function<void(double done, std::string_view label)> on_progress = [](double, std::string_view) {};
  std::function<bool()> should_stop = [] { return false; };
};

struct Findings {
  metrics::Values metrics;
  std::vector<nlohmann::ordered_json> figures = {};  // as train/run/figure_file.h has them
};

class Evaluation {
 public:
  Evaluation() = default;
  virtual ~Evaluation() = default;
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  // Its options: `--set NAME.key=value`; they are written beside the numbers.
  virtual void describe(recipe::Fields& /*fields*/) {}
  // What this task lacks for it, as "needs a task that …"; empty where it fits.
  [[nodiscard]] virtual std::string obstacle(const train::Task& /*task*/) const { return ""; }
  // With gradients off. Throws Stopped where it was asked to stop.
  [[nodiscard]] virtual Findings run(const Subject& subject, const Callbacks& callbacks) = 0;
};

class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct EvaluationEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Evaluation> (*make)();
};

// Those for every kind of task.
[[nodiscard]] std::span<const EvaluationEntry> evaluations();

}  // namespace quest::eval
