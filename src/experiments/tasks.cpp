#include "experiments/tasks.h"

#include <array>

#include "experiments/image_task.h"
#include "experiments/time_series_task.h"

namespace quest::experiments {

std::span<const TaskEntry> tasks() {
  static constexpr std::array kTasks = {
      TaskEntry{.name = "image",
                .summary = "classify images with a vision transformer",
                .recipe = "",
                .factory = image_task_factory},
      TaskEntry{.name = "timeseries",
                .summary = "classify time series of the UEA archive with a transformer",
                .recipe = "timeseries",
                .factory = time_series_task_factory},
  };
  return kTasks;
}

}  // namespace quest::experiments
