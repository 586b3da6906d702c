#include "experiments/tasks.h"

#include <array>

#include "experiments/image_task.h"

namespace quest::experiments {

std::span<const TaskEntry> tasks() {
  static constexpr std::array kTasks = {
      TaskEntry{.name = "image", .summary = "classify images with a vision transformer", .factory = image_task_factory},
  };
  return kTasks;
}

}  // namespace quest::experiments
