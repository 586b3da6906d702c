#pragma once

// A training by the engine that goes on only while it is measured.

#include <cstdint>
#include <filesystem>
#include <memory>

#include "bench/step_costly_load.h"
#include "bench/step_turns.h"
#include "train/distributed/communicator.h"
#include "train/engine/recipe.h"

namespace quest::bench {

struct EngineOptions {
  std::filesystem::path folder;  // of its run
  int workers = 0;
  std::int64_t monitor_every = 0;
  double load_seconds = 0.0;  // what loading a pass takes more than it does
};

class EngineSteps {
 public:
  EngineSteps(std::unique_ptr<train::Task> task, train::Recipe recipe, at::Device device,
              train::Communicator& processes, EngineOptions options);
  ~EngineSteps();
  EngineSteps(const EngineSteps&) = delete;
  EngineSteps& operator=(const EngineSteps&) = delete;

  // Seconds of so many steps, and of the loading ahead that goes on meanwhile. What is measured begins and ends between
  // a step's pass backward and its update. Throws what the engine throws, and std::runtime_error where it ends.
  double run(int steps);

 private:
  void train(const std::function<void()>& pause);

  CostlyLoad task_;
  train::Recipe recipe_;
  at::Device device_;
  train::Communicator& processes_;
  EngineOptions options_;
  std::int64_t steps_ = 0;
  std::int64_t pause_at_ = 0;
  TurnThread thread_;
};

}  // namespace quest::bench
