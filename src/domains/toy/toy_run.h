#pragma once

// Trains on all threads or on a GPU. Each thread takes the next group of models that fit one vector, a GPU as many as
// it has room for; what comes out does not depend on how many threads there are or who takes what.

#include <functional>
#include <span>
#include <vector>

#include "domains/toy/toy.h"

namespace quest::toy {

struct ToyCallbacks {
  // Both are called from one thread at a time: the first when a group ends, the second when some trainings are an epoch
  // further.
  std::function<void(const std::vector<ToyResult>&)> on_finished;
  std::function<void(std::size_t trainings)> on_epoch = [](std::size_t) {};
  // Asked between epochs, on the CPU from every thread.
  std::function<bool()> should_stop;
};

// Groups that were stopped leave no results. An exception of a callback ends the run and is thrown on.
void run_trainings(const ToySettings& settings, std::span<const ToyTraining> trainings, int threads,
                   const ToyCallbacks& callbacks);

// Where kernels::cuda::sweep_obstacle has nothing against the settings' tokens.
void run_trainings_on_gpu(const ToySettings& settings, std::span<const ToyTraining> trainings,
                          const ToyCallbacks& callbacks);

}  // namespace quest::toy
