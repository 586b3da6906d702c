#include "train/optim/optimizer.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "recipe/fields.h"
#include "train/optim/update_rules.h"

namespace quest::train {
namespace {

const UpdateRule& rule_named(const std::string& name) {
  for (const UpdateRule& rule : update_rules()) {
    if (rule.name == name) return rule;
  }
  std::string known;
  for (const std::string_view other : optimizer_names()) known += (known.empty() ? "" : ", ") + std::string(other);
  TORCH_CHECK(false, "unknown optimizer '", name, "'; known are ", known);
}

}  // namespace

std::span<const std::string_view> optimizer_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> result;
    result.reserve(update_rules().size());
    for (const UpdateRule& rule : update_rules()) result.push_back(rule.name);
    return result;
  }();
  return names;
}

Optimizer::Optimizer(FlatParameters& parameters, const OptimizerOptions& options)
    : parameters_(parameters), options_(options), rule_(rule_named(options.name)) {
  state_.resize(rule_.state.size());
  for (at::Tensor& state : state_) state = at::zeros_like(parameters.values());
}

void Optimizer::step(double lr, const UpdateChanges& changes) {
  const torch::NoGradGuard no_grad;
  ++steps_;
  for (const GroupRange& group : parameters_.groups()) {
    const double own_steps = static_cast<double>(steps_) - std::ceil(group.frozen_epochs * changes.steps_per_epoch);
    if (own_steps < 1.0) continue;
    rule_.update({.options = options_,
                  .parameters = parameters_,
                  .state = state_,
                  .group = group,
                  .lr = lr * group.lr_scale,
                  .weight_decay = group.decays ? changes.weight_decay.value_or(group.weight_decay) : 0.0,
                  .beta1 = changes.beta1,
                  .step = own_steps});
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors tensors{{"step", at::scalar_tensor(steps_, at::kLong)}};
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const NamedTensors slices = named_slices(parameters_, rule_.state[i], state_[i]);
    tensors.insert(tensors.end(), slices.begin(), slices.end());
  }
  return tensors;
}

void Optimizer::load_state(const NamedTensors& tensors) {
  const auto step = std::find_if(tensors.begin(), tensors.end(), [](const auto& item) { return item.first == "step"; });
  TORCH_CHECK(step != tensors.end(), "the saved state of an optimiser must hold a tensor 'step', has none");
  for (std::size_t i = 0; i < state_.size(); ++i) load_named_slices(parameters_, rule_.state[i], tensors, state_[i]);
  steps_ = step->second.item<std::int64_t>();
}

void describe(recipe::Fields& fields, OptimizerOptions& options) {
  const auto names = optimizer_names();
  fields.choice("optimizer.name", options.name, {names.begin(), names.end()}, "update rule");
  fields.number("optimizer.lr", options.lr, recipe::Range::above(0), "base learning rate, which the schedule scales");
  fields.number("optimizer.weight_decay", options.weight_decay, recipe::Range::from(0),
                "decoupled in adamw and lamb, added to the gradient in adam, radam and sgd");
  fields.flag("optimizer.decay_all", options.decay_all,
              "decay biases, vectors, position embeddings and class tokens as well");
  fields.number("optimizer.layer_decay", options.layer_decay, {.least = 0, .most = 1, .least_is_excluded = true},
                "a layer's learning rate over that of the layer above");
  fields.number("optimizer.beta1", options.beta1, recipe::Range::from_to_below(0, 1),
                "memory of the gradient's mean; not sgd");
  fields.number("optimizer.beta2", options.beta2, recipe::Range::from_to_below(0, 1),
                "memory of the gradient's square; not sgd");
  fields.number("optimizer.eps", options.eps, recipe::Range::from(0),
                "added to the root of the gradient's square; not sgd");
  fields.number("optimizer.momentum", options.momentum, recipe::Range::from_to_below(0, 1), "sgd only");
  fields.flag("optimizer.nesterov", options.nesterov, "sgd only");
  fields.number("optimizer.clip_norm", options.clip_norm, recipe::Range::from(0),
                "largest norm of all gradients; 0: any");
  fields.number("optimizer.clip_each", options.clip_each, recipe::Range::from(0),
                "largest norm of one tensor's gradient; 0: any");
}

}  // namespace quest::train
