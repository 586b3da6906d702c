#pragma once

// Trains on all threads or on a GPU. Each thread takes the next group of models that fit one vector, a GPU as many as
// it has room for; what comes out does not depend on how many threads there are, who takes what, or which trainings
// there are beside.

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "domains/toy/engine/training.h"
#include "domains/toy/spurious_settings.h"

namespace quest::toy {

struct NumberedTraining {
  std::size_t number = 0;  // by which its result is known
  SpuriousSettings settings;
};

using NumberedResult = std::pair<std::size_t, engine::SweepResult>;

// All are called from one thread at a time.
struct SweepCallbacks {
  std::function<void(std::span<const NumberedResult>)> on_finished;  // when a group ends
  std::function<void(double trainings)> on_progress;                 // when a group is an epoch further
  std::function<bool()> should_stop;                                 // asked between epochs
};

// Groups that were stopped leave no results. An exception of a callback ends the sweep and is thrown on.
void train_on_cpu(std::span<const NumberedTraining> trainings, int threads, const SweepCallbacks& callbacks);

// Where engine::cuda::sweep_obstacle has nothing against the trainings' tokens.
void train_on_gpu(std::span<const NumberedTraining> trainings, const SweepCallbacks& callbacks);

}  // namespace quest::toy
