#pragma once

// The loop that every experiment trains with: a task says what is trained, a recipe how, the engine does the rest.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "train/distributed/communicator.h"
#include "train/run/listener.h"
#include "train/engine/recipe.h"
#include "train/run/run_folder.h"
#include "train/engine/task.h"

namespace quest::train {

using Metrics = std::map<std::string, double>;

struct Surroundings {
  Communicator& processes;
  TrainingListener& listener;  // told by the first process alone
  RunFolder* folder;           // null on all processes but the first
  std::function<bool()> should_stop = [] { return false; };
};

struct Ending {
  std::string status;  // as in run.json: "finished", "stopped early", "interrupted", "crashed at iteration n"
  std::int64_t steps = 0;
  Metrics metrics;  // of the last evaluation
};

// Goes on from the folder's checkpoint where there is one.
Ending train(Task& task, const Recipe& recipe, const Surroundings& around);

// The metrics of the model as it is.
[[nodiscard]] Metrics evaluate(Task& task, const Recipe& recipe, Communicator& processes);

}  // namespace quest::train
