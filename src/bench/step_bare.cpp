#include "bench/step_bare.h"

#include <torch/cuda.h>

#include "base/clock.h"
#include "bench/measure.h"
#include "train/engine/autocast.h"
#include "train/engine/engine.h"
#include "train/optim/clipping.h"
#include "train/optim/parameter_groups.h"

namespace quest::bench {
namespace {

constexpr double kLearningRate = 1e-4;  // whatever the recipe's: the same batch again and again must not diverge
constexpr int kLoads = 5;

}  // namespace

BareSteps::BareSteps(train::Task& task, const train::Recipe& recipe, at::Device device,
                     const train::Communicator& processes)
    : task_(task),
      recipe_(recipe),
      device_(device),
      rules_(task.rules()),
      parameters_(train::parameter_groups(task.model(), {.weight_decay = recipe.optimizer.weight_decay,
                                                         .decay_all = recipe.optimizer.decay_all,
                                                         .layer_decay = recipe.optimizer.layer_decay,
                                                         .rules = rules_})),
      optimizer_(parameters_, recipe.optimizer) {
  const auto stream = task.stream(train::stream_options(recipe, processes));
  const auto steps_per_epoch = stream->steps_per_epoch();
  moment_ = {0, train::total_steps(recipe.train, steps_per_epoch), steps_per_epoch};
  draws_ = stream->draws(0, 0);
  for (const auto& draw : draws_) batches_.push_back(task.load(draw).to(device));
}

double BareSteps::run(int steps) {
  const double begin = base::steady_seconds();
  task_.model().train();
  for (int i = 0; i < steps; ++i) step();
  if (device_.is_cuda()) torch::cuda::synchronize();
  return base::steady_seconds() - begin;
}

void BareSteps::step() {
  parameters_.zero_gradients();
  for (const auto& batch : batches_) {
    const auto losses = [&] {
      const train::Autocast autocast(recipe_.train.precision == "bfloat16", device_.type());
      return task_.loss(batch, moment_);
    }();
    losses.total.backward();
  }
  const torch::NoGradGuard no_grad;
  const double update_began = base::steady_seconds();
  (void)train::clip_gradients(parameters_, recipe_.optimizer.clip_norm, recipe_.optimizer.clip_each);
  optimizer_.step(kLearningRate);
  updates_.push_back(base::steady_seconds() - update_began);
  task_.after_update(moment_);
}

double BareSteps::load_seconds() const {
  std::vector<double> seconds;
  for (int i = 0; i < kLoads; ++i) {
    const double begin = base::steady_seconds();
    for (const auto& draw : draws_) (void)task_.load(draw);
    seconds.push_back(base::steady_seconds() - begin);
  }
  return quantile(seconds, 0.5);
}

std::optional<double> BareSteps::update_seconds() const {
  if (device_.is_cuda()) return std::nullopt;
  return quantile(updates_, 0.5);
}

}  // namespace quest::bench
