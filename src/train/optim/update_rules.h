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
  const FlatParameters& parameters;
  const std::vector<at::Tensor>& state;  // one flat buffer per name in UpdateRule::state
  const GroupRange& group;
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
