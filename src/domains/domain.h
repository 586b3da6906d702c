#pragma once

// What a folder of src/domains/ declares: everything that ties the layers below together for one kind of data. The
// folder's domain.cpp defines
//
//   namespace quest::NAME { domains::Domain domain(); }
//
// and the build finds it; nothing else knows NAME.

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/sets/data_set.h"
#include "domains/packed_task.h"
#include "eval/evaluation.h"
#include "paper/runs.h"
#include "recipe/fields.h"
#include "report/charts/figure.h"
#include "train/engine/recipe.h"
#include "train/engine/task.h"

namespace CLI {
class App;
}

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
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> data_settings(const std::string& text) const {
    return {{"data.folder", text}};
  }
  // Gets what is missing, where that can be fetched.
  virtual void fetch_data(const Fetching& /*fetching*/) const {}
  // Why make() would find no data, and how to get it; empty where it would. Throws recipe::RecipeError where the recipe
  // names data that there is not.
  [[nodiscard]] virtual std::string missing_data() const { return ""; }
  // Weights are drawn from torch's generator, which the caller has seeded.
  [[nodiscard]] virtual std::unique_ptr<train::Task> make(const train::Recipe& recipe, at::Device device) const = 0;
};

// The same training as a plain PyTorch loop, for `quest bench step`: a Python program that reads its settings as JSON
// from its only argument, and for every line of its input takes as many steps and answers with the seconds they took.
struct PythonLoop {
  std::string_view program;
  // Beside "threads", "batch" and every key of the recipe, which it is told anyway: {"model": {"dim": 64, …}, …}.
  std::function<std::vector<std::pair<std::string, std::string>>(train::Task& task)> facts = {};  // name, JSON
};

struct TaskEntry {
  std::string_view name;
  std::string_view summary;
  // One of the two; a packed task's runs are so small that one program trains many of them at once.
  std::unique_ptr<TaskFactory> (*factory)() = nullptr;
  std::unique_ptr<PackedTask> (*packed)() = nullptr;
  std::optional<PythonLoop> python_loop = std::nullopt;
};

// A verb of the program that only this domain has: add() gives it options and what it does.
struct Verb {
  std::string_view name;
  std::string_view summary;
  void (*add)(CLI::App& command);
};

struct Domain {
  std::string_view name;
  std::vector<TaskEntry> tasks;
  std::vector<data::DataSet> data_sets = {};
  std::vector<Verb> verbs = {};
  std::vector<eval::EvaluationEntry> evaluations = {};
  // What an experiment's page shows of this domain's runs beside the tables that every experiment has.
  std::vector<report::Figure> (*figures)(std::span<const paper::Run> runs) = nullptr;
  // The experiment whose small version `quest demo --train` trains, in about a minute; empty: none.
  std::string_view demonstration = {};
};

// Every domain of the program, by name.
[[nodiscard]] std::span<const Domain> all();

// Those that fit tasks of several domains, then every domain's own.
[[nodiscard]] std::vector<eval::EvaluationEntry> all_evaluations();

// Throws std::logic_error that names two domains which declare the same task, data set, verb or evaluation, one that
// declares a verb which the program has anyway, or a task that declares neither or both of factory and packed.
void check(std::span<const Domain> domains, std::span<const std::string> verbs_of_program);

}  // namespace quest::domains
