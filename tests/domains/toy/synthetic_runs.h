#pragma once

// Made-up trainings as the reader of run folders gives them.

#include <string>
#include <vector>

#include "domains/toy/engine/training.h"
#include "paper/runs.h"

namespace quest::toy {

struct SyntheticSettings {
  std::string formulation = "quest";
  std::string wiring = "pre-norm";
  std::string learning_rate = "0.0025";
  std::string weight_decay = "0.1";
  std::string realization = "0";
};

[[nodiscard]] paper::Run synthetic_run(const SyntheticSettings& settings, const engine::SweepResult& result);

// Three formulations × three learning rates × two weight decays × two data sets × four initialisations. Of every
// outcome some; quest succeeds most often, and one training has diverged.
[[nodiscard]] std::vector<paper::Run> synthetic_runs();

}  // namespace quest::toy
