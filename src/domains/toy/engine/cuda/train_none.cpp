// In a build without CUDA.

#include <stdexcept>

#include "domains/toy/engine/cuda/train.h"

namespace quest::toy::engine::cuda {
namespace {

constexpr const char* kObstacle = "this program was built without CUDA; build it with the preset \"cuda\"";

}  // namespace

std::string sweep_obstacle(int /*tokens*/) { return kObstacle; }

SweepDevice sweep_device(int /*tokens*/) { throw std::runtime_error(kObstacle); }

std::optional<std::vector<engine::SweepResult>> train_together(std::span<const SweepTraining> /*trainings*/,
                                                               const std::function<bool()>& /*should_stop*/) {
  throw std::runtime_error(kObstacle);
}

}  // namespace quest::toy::engine::cuda
