#pragma once

// What an experiment gives to the engine: a model, a loss over training samples and an evaluation.

#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace quest::train {

// One process's samples of one forward and backward pass.
struct TrainBatch {
  std::int64_t epoch = 0;
  std::vector<std::int64_t> samples;
};

// One of `count` equal parts of the evaluation data.
struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;
};

// A mean over samples as its two parts, so that processes can add theirs.
struct Tally {
  std::string name;
  double sum = 0.0;
  double count = 0.0;
};

// By which metric the best checkpoint is chosen.
struct Selection {
  std::string metric;
  bool higher_is_better = true;
  bool ties_win = false;  // an equal value is a new best too: it is kept, and patience starts anew

  [[nodiscard]] bool prefers(double value, double best) const {
    return (higher_is_better ? value > best : value < best) || (ties_win && value == best);
  }
};

class Task {
 public:
  Task() = default;
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] virtual torch::nn::Module& model() = 0;
  [[nodiscard]] virtual std::int64_t train_size() const = 0;
  [[nodiscard]] virtual double forward_flops() const = 0;  // of one sample
  // The mean over the samples, with the model in training mode. Random numbers come from torch's generators.
  [[nodiscard]] virtual at::Tensor loss(const TrainBatch& batch) = 0;
  // With the model in evaluation mode and gradients off.
  [[nodiscard]] virtual std::vector<Tally> evaluate(Shard shard) = 0;
  [[nodiscard]] virtual Selection selection() const = 0;
};

}  // namespace quest::train
