#include "app/dry_run.h"

#include <algorithm>

#include "app/peak_memory.h"
#include "train/engine/autocast.h"
#include "train/engine/checkpoint.h"
#include "train/engine/engine.h"
#include "train/optim/parameter_groups.h"
#include "train/optim/update_rules.h"

namespace quest::app {
namespace {

std::vector<std::pair<std::string, std::int64_t>> parts_of(const torch::nn::Module& model) {
  std::vector<std::pair<std::string, std::int64_t>> parts;
  for (const auto& parameter : model.named_parameters(false)) {
    parts.emplace_back(parameter.key(), parameter.value().numel());
  }
  for (const auto& child : model.named_children()) {
    if (const auto count = parameter_count(*child.value()); count > 0) parts.emplace_back(child.key(), count);
  }
  return parts;
}

std::uintmax_t bytes_of(const train::NamedTensors& tensors) {
  std::uintmax_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += tensor.nbytes();
  return bytes;
}

// Those that have a gradient and a place in the optimiser.
std::uintmax_t trained_bytes(const torch::nn::Module& model) {
  std::uintmax_t bytes = 0;
  for (const auto& group : train::parameter_groups(model, {})) {
    for (const auto& parameter : group.parameters) bytes += parameter.value.nbytes();
  }
  return bytes;
}

std::size_t optimizer_buffers(const std::string& name) {
  const auto rules = train::update_rules();
  return std::ranges::find(rules, name, &train::UpdateRule::name)->state.size();
}

double peak_of_batch(train::Task& task, const train::Recipe& recipe, data::Draw draw, std::int64_t samples) {
  draw.samples.resize(static_cast<std::size_t>(samples));
  draw.step_samples = samples;
  task.model().train();
  const auto device = task.model().parameters().front().device();
  const auto batch = task.load(draw).to(device);
  return peak_bytes([&] {
    const train::Autocast autocast(recipe.train.precision == "bfloat16", device.type());
    task.loss(batch, {}).total.backward();
  });
}

// Memory grows by the same amount with every sample, but for batches so small that the gradient of one weight outweighs
// the samples.
double activation_bytes(train::Task& task, const train::Recipe& recipe, const data::Draw& draw) {
  const auto batch = static_cast<std::int64_t>(draw.samples.size());
  const auto few = std::max<std::int64_t>(1, batch / 8);
  const auto more = std::max<std::int64_t>(1, batch / 4);
  (void)peak_of_batch(task, recipe, draw, few);  // makes the gradients of the parameters, which are counted elsewhere
  const double least = peak_of_batch(task, recipe, draw, few);
  if (more == few) return least;
  const double each = (peak_of_batch(task, recipe, draw, more) - least) / static_cast<double>(more - few);
  return least + each * static_cast<double>(batch - few);
}

}  // namespace

std::int64_t parameter_count(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

TrainingPlan plan_of(train::Task& task, const train::Recipe& recipe, const std::string& recipe_name,
                     const train::Communicator& processes) {
  const auto stream = task.stream(train::stream_options(recipe, processes));
  const auto first_step = stream->draws(0, processes.rank());
  TrainingPlan plan{.task = recipe.task, .recipe = recipe_name, .parts = parts_of(task.model())};
  const auto trained = static_cast<double>(trained_bytes(task.model()));
  const double shares = recipe.train.shard == "optimizer" ? processes.size() : 1;
  plan.forward_flop = task.forward_flops();
  plan.memory = {.weights = static_cast<double>(plan.parameters()) * sizeof(float),
                 .gradients = trained,
                 .optimizer = trained * static_cast<double>(optimizer_buffers(recipe.optimizer.name)) / shares,
                 .average = recipe.train.ema > 0.0 ? trained : 0.0,
                 .activations = activation_bytes(task, recipe, first_step.front())};
  plan.samples = task.train_size();
  plan.step_samples = first_step.front().step_samples;
  plan.steps_per_epoch = stream->steps_per_epoch();
  plan.steps = train::total_steps(recipe.train, plan.steps_per_epoch);
  plan.learning_rate = [recipe, base = train::base_learning_rate(recipe, processes), steps = plan.steps,
                        steps_per_epoch = plan.steps_per_epoch](std::int64_t step) {
    return train::learning_rate(recipe.schedule, base, step, steps, steps_per_epoch);
  };
  return plan;
}

std::uintmax_t checkpoint_bytes(train::Task& task, const train::Recipe& recipe) {
  constexpr std::uintmax_t kLogs = 16U << 20U;
  const auto weights = bytes_of(train::weights_of(task.model()).tensors);
  const auto copies = optimizer_buffers(recipe.optimizer.name) + (recipe.train.ema > 0.0 ? 1 : 0);
  const auto resume = weights + trained_bytes(task.model()) * copies + bytes_of(task.state());
  return 2 * weights + 2 * resume + kLogs;
}

}  // namespace quest::app
