#pragma once

// Trainings of the spurious-attention task as runs.jsonl has them, sorted for drawing.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "domains/toy/outcome.h"
#include "paper/runs.h"

namespace quest::toy {

struct Finding {
  double learning_rate = 0.0;
  double weight_decay = 0.0;
  double realization = 0.0;  // which data set
  Outcome outcome = Outcome::other;
  double train_accuracy = 0.0;
  double test_accuracy = 0.0;
  const nlohmann::ordered_json* series = nullptr;  // of the run
};

// What is compared: trainings with the same attention.
struct Kind {
  std::string name;  // of the formulation, and of the wiring where there are trainings with both
  std::vector<Finding> findings;
};

// In the order of all_formulations(). Runs of other tasks, and without results, are left out; the runs must outlive the
// findings.
[[nodiscard]] std::vector<Kind> kinds_of(std::span<const paper::Run> runs);

// The share of correct ones; 0 of none.
[[nodiscard]] double success_rate(std::span<const Finding> findings);

}  // namespace quest::toy
