#pragma once

// What a task's model is worth: its metrics over every split, put together over the processes.

#include "metrics/metrics.h"
#include "train/distributed/communicator.h"
#include "train/engine/recipe.h"
#include "train/engine/task.h"

namespace quest::train {

// A process's metrics become those of all of them.
void reduce(const metrics::Metrics& metrics, Communicator& processes);

// The first split's by their own names, those of the others after the split's name: "accuracy", "test_accuracy".
[[nodiscard]] metrics::Values evaluate(Task& task, const Recipe& recipe, Communicator& processes);

// The same values for whoever does not know which split selects: with its name before the first split's as well.
[[nodiscard]] metrics::Values under_all_names(const metrics::Values& values, const std::vector<std::string>& splits);

}  // namespace quest::train
