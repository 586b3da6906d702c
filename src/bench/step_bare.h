#pragma once

// The work of a training step without the engine: forward, backward, clipping and the optimiser's arithmetic on one
// batch that is there already.

#include <optional>
#include <vector>

#include "train/distributed/communicator.h"
#include "train/engine/recipe.h"
#include "train/engine/task.h"
#include "train/optim/flat_parameters.h"
#include "train/optim/optimizer.h"

namespace quest::bench {

class BareSteps {
 public:
  // The task and the recipe must outlive it.
  BareSteps(train::Task& task, const train::Recipe& recipe, at::Device device, const train::Communicator& processes);

  // Seconds of so many steps.
  double run(int steps);

  // Of loading a step's batches, median of a few times.
  [[nodiscard]] double load_seconds() const;
  // Of clipping and the optimiser in a step, median; none on a GPU, which works behind the calls.
  [[nodiscard]] std::optional<double> update_seconds() const;
  [[nodiscard]] std::size_t passes() const { return batches_.size(); }

 private:
  void step();

  train::Task& task_;
  const train::Recipe& recipe_;
  at::Device device_;
  std::vector<data::Draw> draws_;
  std::vector<data::Batch> batches_;
  train::Moment moment_;
  train::ParameterRules rules_;
  train::FlatParameters parameters_;
  train::Optimizer optimizer_;
  std::vector<double> updates_;
};

}  // namespace quest::bench
