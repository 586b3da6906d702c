#include "bench/step_engine.h"

#include <torch/cuda.h>

#include <stdexcept>

#include "base/clock.h"
#include "train/engine/engine.h"
#include "train/run/run_folder.h"

namespace quest::bench {
namespace {

constexpr std::int64_t kForever = 1'000'000'000'000;  // steps

// Every step as the recipe has it, without an end and what goes with it.
train::Recipe endless(train::Recipe recipe, std::int64_t monitor_every) {
  recipe.train.steps = kForever;
  recipe.train.eval_steps = kForever;
  recipe.train.patience = 0;
  recipe.train.checkpoint_every = 0;
  recipe.train.monitor_every = monitor_every;
  return recipe;
}

}  // namespace

EngineSteps::EngineSteps(std::unique_ptr<train::Task> task, train::Recipe recipe, at::Device device,
                         train::Communicator& processes, EngineOptions options)
    : task_(std::move(task), options.load_seconds),
      recipe_(endless(std::move(recipe), options.monitor_every)),
      device_(device),
      processes_(processes),
      options_(std::move(options)),
      thread_([this](const auto& pause) { train(pause); }) {}

EngineSteps::~EngineSteps() { task_.gate().open(); }  // whoever waits there must be able to end

void EngineSteps::train(const std::function<void()>& pause) {
  train::RunFolder folder(options_.folder);
  train::TrainingListener nobody;
  const auto ending = train::train(task_, recipe_,
                                   {.processes = processes_,
                                    .listener = nobody,
                                    .folder = &folder,
                                    .should_stop =
                                        [&] {
                                          if (++steps_ == pause_at_) pause();
                                          return false;
                                        },
                                    .workers = options_.workers});
  throw std::runtime_error("the training ended before it was measured: " + ending.status);
}

double EngineSteps::run(int steps) {
  pause_at_ = steps_ + steps;
  const double begin = base::steady_seconds();
  task_.gate().open();
  thread_.resume();
  if (device_.is_cuda()) torch::cuda::synchronize();
  task_.gate().close();
  return base::steady_seconds() - begin;
}

}  // namespace quest::bench
