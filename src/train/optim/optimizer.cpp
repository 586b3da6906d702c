#include "train/optim/optimizer.h"

#include <torch/torch.h>

#include <algorithm>
#include <iterator>

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

Optimizer::Optimizer(FlatParameters& parameters, const OptimizerOptions& options, const Share& share)
    : parameters_(parameters),
      options_(options),
      rule_(rule_named(options.name)),
      share_(share),
      updates_(parameters.groups().size()) {
  for (const GroupRange& group : parameters.groups()) {
    const Piece range = share.range(group.begin, group.end);
    parts_.push_back({range, share.pieces(group.slices, range)});
  }
  state_.resize(rule_.state.size());
  for (at::Tensor& state : state_) state = at::zeros_like(share.of(parameters.values()));
}

void Optimizer::step(double lr, const UpdateChanges& changes) {
  const torch::NoGradGuard no_grad;
  const at::Tensor values = share_.of(parameters_.values());
  const at::Tensor gradients = share_.of(parameters_.gradients());
  for (std::size_t g = 0; g < updates_.size(); ++g) {
    const GroupRange& group = parameters_.groups()[g];
    const double lr_scale = group.lr_scale_at(changes.moment);
    if (lr_scale == 0.0) continue;
    const OwnPart& part = parts_[g];
    const auto own = [&](const at::Tensor& flat) { return flat.narrow(0, part.range.begin, part.range.count); };
    std::vector<at::Tensor> state;
    std::ranges::transform(state_, std::back_inserter(state), own);
    rule_.update({.options = options_,
                  .share = share_,
                  .pieces = part.pieces,
                  .values = own(values),
                  .gradients = own(gradients),
                  .state = std::move(state),
                  .lr = lr * lr_scale,
                  .weight_decay = group.decays ? changes.weight_decay.value_or(group.weight_decay) : 0.0,
                  .beta1 = changes.beta1,
                  .step = static_cast<double>(++updates_[g])});
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors tensors{{"step", at::tensor(updates_)}};
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const at::Tensor joined = share_.joined(state_[i]);
    if (!joined.defined()) continue;
    const NamedTensors slices = named_slices(parameters_, rule_.state[i], joined);
    tensors.insert(tensors.end(), slices.begin(), slices.end());
  }
  return tensors;
}

void Optimizer::load_state(const NamedTensors& tensors) {
  const auto step = std::find_if(tensors.begin(), tensors.end(), [](const auto& item) { return item.first == "step"; });
  TORCH_CHECK(step != tensors.end(), "the saved state of an optimiser must hold a tensor 'step', has none");
  TORCH_CHECK(step->second.numel() == std::ssize(updates_), "the saved tensor 'step' counts the updates of ",
              step->second.numel(), " groups of parameters, the model has ", updates_.size());
  loaded_.clear();
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const at::Tensor all = share_.is_whole() ? state_[i] : at::zeros(parameters_.values().sizes());
    load_named_slices(parameters_, rule_.state[i], tensors, all);
    if (!share_.is_whole()) loaded_.push_back(all);
  }
  const at::Tensor updates = step->second.contiguous();
  std::ranges::copy_n(updates.const_data_ptr<std::int64_t>(), updates.numel(), updates_.begin());
}

void Optimizer::agree(Communicator& processes) {
  const torch::NoGradGuard no_grad;
  const at::Tensor updates = at::tensor(updates_);
  processes.broadcast(updates, 0);
  std::ranges::copy_n(updates.const_data_ptr<std::int64_t>(), updates.numel(), updates_.begin());
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (share_.is_whole()) {
      processes.broadcast(state_[i], 0);
    } else {
      share_.hand_out(loaded_.empty() ? at::Tensor() : loaded_[i], state_[i]);
    }
  }
  loaded_.clear();
}

double base_learning_rate(const OptimizerOptions& options, std::int64_t step_samples) {
  if (options.lr_batch == 0) return options.lr;
  return options.lr * static_cast<double>(step_samples) / static_cast<double>(options.lr_batch);
}

void describe(recipe::Fields& fields, OptimizerOptions& options) {
  const auto names = optimizer_names();
  fields.choice("optimizer.name", options.name, {names.begin(), names.end()}, "update rule");
  fields.number("optimizer.lr", options.lr, recipe::Range::above(0), "base learning rate, which the schedule scales");
  fields.integer("optimizer.lr_batch", options.lr_batch, recipe::IntegerRange::from(0),
                 "samples a step, over all processes, that optimizer.lr is meant for: it grows with them; 0: never");
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
