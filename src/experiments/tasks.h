#pragma once

// What `quest train` can train.

#include <c10/core/Device.h>

#include <memory>
#include <span>
#include <string_view>

#include "train/fields.h"
#include "train/recipe.h"
#include "train/task.h"

namespace quest::experiments {

// A task before its data is read and its model made: it holds the recipe's sections that belong to it.
class TaskFactory {
 public:
  TaskFactory() = default;
  virtual ~TaskFactory() = default;
  TaskFactory(const TaskFactory&) = delete;
  TaskFactory& operator=(const TaskFactory&) = delete;

  virtual void describe(train::Fields& fields) = 0;
  // Weights are drawn from torch's generator, which the caller has seeded.
  [[nodiscard]] virtual std::unique_ptr<train::Task> make(const train::Recipe& recipe, at::Device device) const = 0;
};

struct TaskEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<TaskFactory> (*factory)();
};

[[nodiscard]] std::span<const TaskEntry> tasks();

}  // namespace quest::experiments
