#pragma once

// Image classification with a vision transformer: Fashion-MNIST.

#include <memory>

#include "experiments/tasks.h"

namespace quest::experiments {

[[nodiscard]] std::unique_ptr<TaskFactory> image_task_factory();

}  // namespace quest::experiments
