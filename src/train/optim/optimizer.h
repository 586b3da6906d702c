#pragma once

// Optimisers over the flat buffers of a model: AdamW, Adam, RAdam and SGD as torch.optim defines them, and LAMB with
// the trust ratio of each decayed tensor (You et al. 2020, bias correction on, no bounds on the ratio).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/fields.h"
#include "train/optim/share.h"

namespace quest::train {

struct OptimizerOptions {
  std::string name = "adamw";
  double lr = 1e-3;
  std::int64_t lr_batch = 0;  // see base_learning_rate
  double weight_decay = 0.0;
  bool decay_all = false;    // see GroupingOptions
  double layer_decay = 1.0;  // see GroupingOptions
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0.9;   // sgd
  bool nesterov = false;   // sgd
  double clip_norm = 0.0;  // see clip_gradients
  double clip_each = 0.0;  // see clip_gradients
};

struct UpdateRule;

// What a schedule or a task puts in the place of an option at one step.
struct UpdateChanges {
  std::optional<double> beta1;         // sgd: momentum
  std::optional<double> weight_decay;  // of the groups that decay
  Moment moment = {};                  // at which the schedules of groups are asked
};

class Optimizer {
 public:
  // Weight decay and factors of the learning rate are those of the groups.
  Optimizer(FlatParameters& parameters, const OptimizerOptions& options)
      : Optimizer(parameters, options, Share(parameters)) {}
  // Keeps the state of the share, and updates no other parameters. Where it is not everything, every process makes the
  // same calls.
  Optimizer(FlatParameters& parameters, const OptimizerOptions& options, const Share& share);

  // One update from the gradients as they stand. Groups that are frozen stay as they are, and begin afterwards as if
  // the optimiser were new.
  void step(double lr, const UpdateChanges& changes = {});

  // torch's names: exp_avg.<parameter>, exp_avg_sq.<parameter> or momentum_buffer.<parameter>; and "step", the
  // updates of each group. Where processes share the state, the first one gets that of all and the others nothing.
  [[nodiscard]] NamedTensors state() const;
  void load_state(const NamedTensors& tensors);
  // All processes go on from what the first one has or has loaded.
  void agree(Communicator& processes);

 private:
  struct OwnPart {
    Piece range;  // of the share
    std::vector<Piece> pieces;
  };

  FlatParameters& parameters_;
  OptimizerOptions options_;
  const UpdateRule& rule_;
  Share share_;
  std::vector<OwnPart> parts_;         // of each group
  std::vector<at::Tensor> state_;      // of the share
  std::vector<at::Tensor> loaded_;     // of all shares, until agree() hands them out
  std::vector<std::int64_t> updates_;  // of each group
};

std::span<const std::string_view> optimizer_names();

// The rate that schedules start from. With lr_batch it is lr for steps of so many samples and grows with them.
[[nodiscard]] double base_learning_rate(const OptimizerOptions& options, std::int64_t step_samples);

// The keys optimizer.*
void describe(recipe::Fields& fields, OptimizerOptions& options);

}  // namespace quest::train
