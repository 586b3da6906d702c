#include "train/optim/update_rules.h"

#include <array>
#include <cmath>

#include "train/optim/flat_updates.h"

namespace quest::train {
namespace {

AdamBuffers range_of(const GroupStep& s) { return {s.values, s.gradients, s.state[0], s.state[1]}; }

// Adam with bias correction, nothing decayed.
AdamStep adam_step(const GroupStep& s) {
  const double beta1 = s.beta1.value_or(s.options.beta1);
  const double correction1 = 1 - std::pow(beta1, s.step);
  const double correction2 = 1 - std::pow(s.options.beta2, s.step);
  return {.beta1 = beta1,
          .beta2 = s.options.beta2,
          .l2 = 0,
          .step_size = s.lr / correction1,
          .root_scale = 1 / std::sqrt(correction2),
          .eps = s.options.eps,
          .decay = 0,
          .adaptive = true};
}

void update_adam(const GroupStep& s) {
  AdamStep step = adam_step(s);
  step.l2 = s.weight_decay;
  adam(step, range_of(s));
}

void update_adamw(const GroupStep& s) {
  AdamStep step = adam_step(s);
  step.decay = s.lr * s.weight_decay;
  adam(step, range_of(s));
}

// Liu et al. 2020: the adaptive step is rectified by the variance of its denominator, and left out while that has none.
void update_radam(const GroupStep& s) {
  const double power2 = std::pow(s.options.beta2, s.step);
  const double most = 2 / (1 - s.options.beta2) - 1;
  const double length = most - 2 * s.step * power2 / (1 - power2);
  AdamStep step = adam_step(s);
  step.l2 = s.weight_decay;
  step.adaptive = length > 5;
  if (step.adaptive) {
    // torch adds eps to the root before the bias correction.
    step.root_scale = 1;
    step.step_size *= std::sqrt((1 - power2) * (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
  }
  adam(step, range_of(s));
}

void update_lamb(const GroupStep& s) {
  AdamStep step = adam_step(s);
  // Both corrections belong under the norm of the update.
  const double correction1 = s.lr / step.step_size;
  step.step_size = s.lr;
  step.root_scale *= correction1;
  step.eps *= correction1;
  lamb(step, s.weight_decay, range_of(s), s.pieces, s.share);
}

void update_sgd(const GroupStep& s) {
  const SgdStep step{.lr = s.lr,
                     .momentum = s.beta1.value_or(s.options.momentum),
                     .l2 = s.weight_decay,
                     .nesterov = s.options.nesterov};
  sgd(step, s.values, s.gradients, s.state[0]);
}

}  // namespace

std::span<const UpdateRule> update_rules() {
  static const std::vector<std::string> moments{"exp_avg", "exp_avg_sq"};
  static const std::array<UpdateRule, 5> rules{{{"adamw", moments, update_adamw},
                                                {"adam", moments, update_adam},
                                                {"radam", moments, update_radam},
                                                {"lamb", moments, update_lamb},
                                                {"sgd", {"momentum_buffer"}, update_sgd}}};
  return rules;
}

}  // namespace quest::train
