#pragma once

// What the updates of one parameter obey, where a task has rules of its own.

#include <functional>
#include <string>

#include "train/optim/moment.h"

namespace quest::train {

struct ParameterRule {
  double lr_scale = 1.0;       // factor of the learning rate
  bool decays = true;          // whether weight decay applies
  double frozen_epochs = 0.0;  // not updated before
};

struct ParameterRules {
  // Changes the rule of the parameter of that name from what it would be; none: nothing is changed.
  std::function<void(const std::string& name, ParameterRule& rule)> change;
  // Of the parameters that decay, in place of optimizer.weight_decay; none: that.
  std::function<double(const Moment& moment)> weight_decay;
};

}  // namespace quest::train
