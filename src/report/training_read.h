#pragma once

// What the folder of a training run holds, for whoever only looks: nothing is written, and the run may be going on.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/evaluation_read.h"
#include "report/figure_read.h"
#include "train/run/explosion_warning.h"
#include "train/run/layer_record.h"
#include "train/run/listener.h"

namespace quest::report {

// As metrics.jsonl tells it.
struct Evaluation {
  std::int64_t step = 0;
  double epoch = 0.0;
  std::map<std::string, double> metrics;
};

struct Crash {
  std::int64_t iteration = 0;
  std::string reason;
  std::vector<train::StepReport> steps;  // every one of the last before the crash
};

struct TrainingRun {
  std::filesystem::path path;
  nlohmann::ordered_json description;  // run.json
  std::string recipe;                  // TOML; empty where there is none
  std::vector<train::StepReport> steps;
  std::vector<Evaluation> evaluations;
  std::vector<train::LayerRecord> layers;
  std::vector<train::ExplosionWarning> warnings;  // of the whole run, in the order of the steps
  std::optional<Crash> crash;
  EvaluationFiles evaluated;
  FigureFiles figures;

  // What run.json says under the key, as text; "–" where it says nothing.
  [[nodiscard]] std::string told(const std::string& key) const;
};

struct NamedRun {
  std::string name;
  const TrainingRun* run = nullptr;
};

[[nodiscard]] bool is_training_run(const std::filesystem::path& folder);

// Throws std::runtime_error that names the file, what was expected there and what to do.
[[nodiscard]] TrainingRun read_training_run(const std::filesystem::path& folder);

}  // namespace quest::report
