#pragma once

// Everything a training needs to go on as if it had not stopped, in one file that is replaced as a whole.
// Random numbers need no place in it: every step draws from generators seeded by the run's seed, the step and the rank.

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include "data/weights/safetensors.h"
#include "train/optim/ema.h"
#include "train/optim/optimizer.h"

namespace quest::train {

struct TrainState {
  std::int64_t step = 0;  // finished steps
  std::optional<double> best;
  std::int64_t evaluations_since_best = 0;
};

// What a checkpoint saves from and restores into.
struct Trained {
  torch::nn::Module& model;
  Optimizer& optimizer;
  Ema* ema = nullptr;            // null where none is kept
  NamedTensors task_state = {};  // see Task::state
};

// The model's own weights under its own names, for use elsewhere.
[[nodiscard]] data::TensorFile weights_of(const torch::nn::Module& model);

// Where processes share the optimiser's state, the others call its state() meanwhile.
void save_checkpoint(const std::filesystem::path& file, const Trained& trained, const TrainState& state);

// Throws std::runtime_error that names the file and what does not fit; what is being restored may then be half-changed.
[[nodiscard]] TrainState load_checkpoint(const std::filesystem::path& file, const Trained& trained);

}  // namespace quest::train
