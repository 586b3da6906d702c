#pragma once

// What an optimiser does with one group of parameters in one step.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/optim/optimizer.h"

namespace quest::train {

struct GroupStep {
  const OptimizerOptions& options;
  const Share& share;
  // Of the group's slices in the tensors that follow, which are what the share has of the group.
  std::span<const Piece> pieces;
  at::Tensor values;
  at::Tensor gradients;
  std::vector<at::Tensor> state;  // one for each name in UpdateRule::state
  double lr;
  double weight_decay;
  std::optional<double> beta1;  // instead of the option's
  double step;                  // counted from 1
};

struct UpdateRule {
  std::string_view name;
  std::vector<std::string> state;
  void (*update)(const GroupStep&);
};

std::span<const UpdateRule> update_rules();

}  // namespace quest::train
