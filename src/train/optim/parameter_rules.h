#pragma once

// What the updates of one parameter obey, where a task has rules of its own.

#include <functional>
#include <string>

#include "train/optim/moment.h"

namespace quest::train {

struct ParameterRule {
  double lr_scale = 1.0;              // factor of the learning rate; 0: frozen
  FunctionOfMoment lr_schedule = {};  // another factor of it, for as long as it is 0 the parameter is frozen; none: 1
  bool decays = true;                 // whether weight decay applies
};

struct ParameterRules {
  // Changes the rule of the parameter of that name from what it would be; none: nothing is changed.
  std::function<void(const std::string& name, ParameterRule& rule)> change;
  // Of the parameters that decay, in place of optimizer.weight_decay; none: that.
  FunctionOfMoment weight_decay;
};

}  // namespace quest::train
