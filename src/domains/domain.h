#pragma once

// What a folder of src/domains/ declares: the tasks of one kind of data. The folder's domain.cpp defines
//
//   namespace quest::NAME { domains::Domain domain(); }
//
// and the build finds it; nothing else knows NAME.

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/fields.h"
#include "train/engine/recipe.h"
#include "train/engine/task.h"

namespace quest::domains {

// How data is fetched that a package of pip's index holds.
struct Fetching {
  std::string python;
  std::function<void(double)> progress;  // hears from 0 to 1 how far it is
};

// A task before its data is read and its model made: it holds the recipe's sections that belong to it.
class TaskFactory {
 public:
  TaskFactory() = default;
  virtual ~TaskFactory() = default;
  TaskFactory(const TaskFactory&) = delete;
  TaskFactory& operator=(const TaskFactory&) = delete;

  virtual void describe(recipe::Fields& fields) = 0;
  // What `--data TEXT` stands for: keys and their values.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> data_settings(
      const std::string& text) const = 0;
  // Gets what is missing, where that can be fetched; what cannot, make() tells.
  virtual void fetch_data(const Fetching& /*fetching*/) const {}
  // Weights are drawn from torch's generator, which the caller has seeded.
  [[nodiscard]] virtual std::unique_ptr<train::Task> make(const train::Recipe& recipe, at::Device device) const = 0;
};

struct TaskEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<TaskFactory> (*factory)();
};

struct Domain {
  std::string_view name;
  std::vector<TaskEntry> tasks;
};

// Every domain of the program, by name.
[[nodiscard]] std::span<const Domain> all();

}  // namespace quest::domains
