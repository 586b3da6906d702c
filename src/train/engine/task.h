#pragma once

// What is trained: a model, which samples it sees, a loss over a batch of them, and an evaluation. The engine is a loop
// over this contract.

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/stream.h"
#include "metrics/metrics.h"
#include "train/optim/flat_parameters.h"
#include "train/optim/moment.h"
#include "train/optim/parameter_rules.h"

namespace quest::train {

struct Losses {
  at::Tensor total;  // the mean that is minimised
  std::optional<double> weight =
      std::nullopt;         // of what it is a mean: tokens, nodes, pixels; none: the batch's samples
  NamedTensors parts = {};  // for the log; means over the same
};

// One of `count` equal parts of a split of the data.
struct Split {
  std::string name;
  std::int64_t index = 0;
  std::int64_t count = 1;

  // Of so many samples.
  [[nodiscard]] std::int64_t begin(std::int64_t samples) const { return samples * index / count; }
  [[nodiscard]] std::int64_t end(std::int64_t samples) const { return samples * (index + 1) / count; }
};

// By which metric of the first split the best checkpoint is chosen.
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
  [[nodiscard]] virtual double forward_flops() const = 0;  // of one sample; 0: not known
  [[nodiscard]] virtual std::unique_ptr<data::Stream> stream(const data::StreamOptions& options) const {
    return data::shuffled_stream(train_size(), options);
  }

  // Into the host's memory. Called from any thread, several at once; random numbers come from draw.random(i) alone.
  [[nodiscard]] virtual data::Batch load(const data::Draw& draw) const = 0;
  // On the model's device, with the model in training mode. Random numbers come from torch's generators.
  [[nodiscard]] virtual Losses loss(const data::Batch& batch, const Moment& moment) = 0;

  // Evaluated in this order; metrics of all but the first get the split's name before theirs.
  [[nodiscard]] virtual std::vector<std::string> splits() const { return {"test"}; }
  // With the model in evaluation mode and gradients off.
  virtual void evaluate(const Split& split, metrics::Metrics& metrics) = 0;
  [[nodiscard]] virtual Selection selection() const = 0;

  // After every update of the weights, with gradients off: a teacher's average, a centre, a memory.
  virtual void after_update(const Moment& /*moment*/) {}
  [[nodiscard]] virtual ParameterRules rules() const { return {}; }
  // What goes on from step to step beside the model; checkpoints hold it, and it is restored in place.
  [[nodiscard]] virtual NamedTensors state() { return {}; }
};

}  // namespace quest::train
