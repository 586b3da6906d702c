#pragma once

// The loop that every task trains with: a task says what is trained, a recipe how, the engine does the rest.
//
//   every step   passes: load (ahead, in threads) → forward → backward, gradients exchanged meanwhile
//                clip → update → average of the weights → Task::after_update
//   then         loss and norm of the step before are read, logged, and end the run where they are not finite
//   now and then evaluate, save

#include <cstdint>
#include <functional>
#include <string>

#include "train/distributed/communicator.h"
#include "train/engine/evaluate.h"
#include "train/engine/recipe.h"
#include "train/engine/task.h"
#include "train/run/listener.h"
#include "train/run/run_folder.h"

namespace quest::train {

struct Surroundings {
  Communicator& processes;
  TrainingListener& listener;  // told by the first process alone
  RunFolder* folder;           // null on all processes but the first
  std::function<bool()> should_stop = [] { return false; };
  int workers = 0;  // threads that load batches ahead; they change no result
};

struct Ending {
  std::string status;  // as in run.json: "finished", "stopped early", "interrupted", "crashed at iteration n"
  std::int64_t steps = 0;
  metrics::Values metrics;  // of the last evaluation
};

// The order of samples that a recipe asks of a task.
[[nodiscard]] data::StreamOptions stream_options(const Recipe& recipe, const Communicator& processes);

// What its schedule starts from, for the samples that these processes make a step of.
[[nodiscard]] double base_learning_rate(const Recipe& recipe, const Communicator& processes);

// Goes on from the folder's checkpoint where there is one.
Ending train(Task& task, const Recipe& recipe, const Surroundings& around);

}  // namespace quest::train
