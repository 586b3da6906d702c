#pragma once

// Image classification with a vision transformer: Fashion-MNIST.

#include <memory>

#include "domains/domain.h"

namespace quest::images {

[[nodiscard]] std::unique_ptr<domains::TaskFactory> image_task_factory();

}  // namespace quest::images
