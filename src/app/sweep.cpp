#include "app/sweep.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "app/interrupt.h"
#include "app/machine.h"
#include "app/packed_sweep.h"
#include "app/train_options.h"
#include "app/usage_error.h"
#include "base/children.h"
#include "base/clock.h"
#include "eval/run_evaluation.h"
#include "paper/runs.h"
#include "recipe/recipe_files.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"
#include "train/run/evaluation_file.h"
#include "train/run/run_folder.h"

namespace quest::app {
namespace {

constexpr const char* kLogFile = "log.txt";
constexpr double kSecondsBetweenLines = 30.0;  // where no terminal shows a bar

struct Training {
  std::string recipe;
  std::filesystem::path folder;
  std::vector<std::string> assignments;
  std::vector<std::string> evaluations;
};

struct Jobs {
  std::string device;  // "cpu" or "cuda"
  int at_once = 1;
  int threads = 1;  // of each
};

Jobs jobs_of(const SweepOptions& options) {
  const auto device = use_machine({.device = options.device, .threads = default_threads()});
  Jobs jobs{.device = device.is_cpu() ? "cpu" : "cuda"};
  jobs.at_once = options.jobs > 0 ? options.jobs : device.is_cpu() ? default_threads() : 1;
  jobs.threads = std::max(1, default_threads() / jobs.at_once);
  return jobs;
}

std::vector<std::string> assignments_of(const paper::PlannedRun& run, const SweepOptions& options) {
  auto assignments = options.assignments;
  for (const auto& [key, value] : run.settings) assignments.push_back(key + "=" + value);
  return assignments;
}

// A mistake in what the experiment's file says is told with its place there.
std::unique_ptr<TaskRecipe> recipe_of(const paper::PlannedRun& run, const SweepOptions& options) {
  std::vector<recipe::Setting> settings;
  try {
    settings = recipe::settings_of_recipe(run.recipe);
  } catch (const recipe::RecipeError& error) {
    throw recipe::RecipeError(run.place + ".recipe: " + error.what());
  }
  for (const auto& assignment : options.assignments) settings.push_back(recipe::setting_of_assignment(assignment));
  for (const auto& [key, value] : run.settings) settings.push_back({key, recipe::Word{value}, run.place});
  return std::make_unique<TaskRecipe>(settings);
}

// Before anything is trained: a name that nobody knows would end every run with a failed evaluation.
void check_evaluations(const paper::PlannedRun& run, const TaskRecipe& recipe,
                       std::span<const eval::EvaluationEntry> known) {
  const auto place = run.place + ".evaluations: ";
  if (recipe.is_packed() && !run.evaluations.empty()) {
    throw recipe::RecipeError(place + "expected none, as the runs of the task \"" + std::string(recipe.entry().name) +
                              "\" keep no weights, got \"" + run.evaluations.front() + "\"");
  }
  try {
    for (const auto& name : run.evaluations) static_cast<void>(eval::find_evaluation(name, known));
  } catch (const std::invalid_argument& problem) {
    throw recipe::RecipeError(place + problem.what());
  }
}

// Tells what is missing, once for each piece of data, and whether the recipe's data is there.
class DataAtHand {
 public:
  bool holds(const TaskRecipe& recipe) {
    std::string data;
    for (const auto& entry : recipe.fields().entries()) {
      if (entry.key.starts_with("data.")) data += entry.key + "=" + entry.value + "\n";
    }
    const auto known = known_.find(data);
    if (known != known_.end()) return known->second;
    return known_[data] = fetch(recipe.factory());
  }

 private:
  bool fetch(const domains::TaskFactory& factory) {
    if (!factory.missing_data().empty()) {
      try {
        fetch_data(factory, *train::communicator_from_environment(at::kCPU));
      } catch (const std::runtime_error& error) {
        std::cerr << error.what() << "\n";
      }
    }
    const auto missing = factory.missing_data();
    if (missing.empty()) return true;
    if (told_.insert(missing).second) std::cerr << "left out: " << missing << "\n";
    return false;
  }

  std::map<std::string, bool> known_;
  std::set<std::string> told_;
};

// Empty where no run has begun; nothing, and told, where the folder's run cannot be read.
std::optional<std::string> status_of(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / train::kRunFile)) return "";
  try {
    return train::read_run_file(folder).value("status", "");
  } catch (const std::exception& error) {
    std::cerr << folder.string() << " failed: " << error.what() << "\n";
    return std::nullopt;
  }
}

bool has_ended(const std::filesystem::path& folder) { return paper::has_ended(status_of(folder).value_or("")); }

bool lacks(const std::filesystem::path& folder, const std::string& evaluation) {
  return !std::filesystem::exists(folder / train::kEvaluationFolder / (evaluation + ".json"));
}

// Runs programs under a bar that counts them; returns how many failed.
class Programs {
 public:
  Programs(Jobs jobs, std::string what) : jobs_(std::move(jobs)), what_(std::move(what)) {}

  void add(std::vector<std::string> arguments, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    arguments.insert(arguments.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
    arguments.insert(arguments.end(), {"--device", jobs_.device, "--threads", std::to_string(jobs_.threads)});
    children_.push_back({.arguments = std::move(arguments), .log = folder / kLogFile});
    folders_.push_back(folder);
  }

  // Calls on_success with the folder of each that succeeded.
  std::size_t run(const std::function<void(const std::filesystem::path&)>& on_success) {
    if (children_.empty()) return 0;
    const InterruptRequest interrupt;
    terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal(), base::steady_seconds,
                                kSecondsBetweenLines);
    const double start = base::steady_seconds();
    std::size_t done = 0;
    std::size_t failed = 0;
    const auto per_hour = [&] {
      return terminal::three_digits(3600.0 * static_cast<double>(done) / (base::steady_seconds() - start)) +
             " per hour";
    };
    const auto on_end = [&](std::size_t child, int exit_code) {
      if (exit_code == 0) {
        ++done;
        return on_success(folders_[child]);
      }
      if (InterruptRequest::made()) return;
      progress.clear();
      // A training that diverged has ended all the same: its crash is the result.
      if (has_ended(folders_[child])) {
        ++done;
        std::cerr << folders_[child].string() << ": " << base::last_line(children_[child].log) << "\n";
        return;
      }
      ++failed;
      std::cerr << folders_[child].string() << " failed with exit code " << exit_code << ": "
                << base::last_line(children_[child].log) << "\n";
    };
    const auto meanwhile = [&] {
      progress.update(
          static_cast<double>(done + failed) / static_cast<double>(children_.size()),
          std::to_string(done) + " of " + std::to_string(children_.size()) + " " + what_ + ", " + per_hour());
    };
    const auto threads = std::to_string(jobs_.threads);
    const std::array<std::string, 2> environment = {"OMP_NUM_THREADS=" + threads, "MKL_NUM_THREADS=" + threads};
    base::run_children(children_, static_cast<std::size_t>(jobs_.at_once), environment,
                       {.on_end = on_end, .meanwhile = meanwhile, .should_stop = InterruptRequest::made});
    progress.clear();
    if (InterruptRequest::made() && done + failed < children_.size()) {
      throw Interrupted(
          "stopped; " + std::to_string(done) + " of " + std::to_string(children_.size()) + " " + what_ +
          " ended meanwhile, and the others keep their checkpoints. The same command goes on from there.");
    }
    std::cerr << done << " " << what_ << " in " << terminal::duration_text(base::steady_seconds() - start) << ", "
              << per_hour() << "\n";
    return failed;
  }

 private:
  Jobs jobs_;
  std::string what_;
  std::vector<base::Child> children_;
  std::vector<std::filesystem::path> folders_;
};

// What is needed to go on is not needed any more; the best weights stay.
void tidy(const std::filesystem::path& folder) {
  std::filesystem::remove(folder / train::kResumeCheckpoint);
  std::filesystem::remove(folder / train::kLastWeights);
}

std::size_t train_apart(std::vector<Training> trainings, const Jobs& jobs) {
  std::size_t failed = std::erase_if(trainings, [](const Training& training) { return !status_of(training.folder); });
  Programs programs(jobs, "runs");
  std::size_t ended = 0;
  for (const auto& training : trainings) {
    if (has_ended(training.folder)) {
      ++ended;
      continue;
    }
    std::vector<std::string> arguments = {"train", training.recipe};
    for (const auto& assignment : training.assignments) arguments.insert(arguments.end(), {"--set", assignment});
    arguments.insert(arguments.end(), {"--resume", "--run", training.folder.string()});
    programs.add(std::move(arguments), training.folder);
  }
  if (!trainings.empty()) std::cerr << trainings.size() << " runs, " << ended << " of them have ended already\n";
  failed += programs.run(tidy);
  Programs evaluations(jobs, "evaluations");
  for (const auto& training : trainings) {
    if (!paper::has_ended_well(status_of(training.folder).value_or(""))) continue;
    for (const auto& evaluation : training.evaluations) {
      if (!lacks(training.folder, evaluation)) continue;
      evaluations.add({"eval", training.folder.string(), "--with", evaluation}, training.folder);
    }
  }
  return failed + evaluations.run([](const std::filesystem::path&) {});
}

}  // namespace

std::size_t run_sweep(std::span<const paper::PlannedRun> runs, const SweepOptions& options) {
  std::vector<Training> apart;
  std::map<std::string, PackedSweep> packed;  // by recipe
  DataAtHand data;
  const auto evaluations = domains::all_evaluations();
  for (const auto& run : runs) {
    auto recipe = recipe_of(run, options);
    check_evaluations(run, *recipe, evaluations);
    if (recipe->is_packed()) {
      auto& sweep = packed[run.recipe];
      sweep.runs.push_back(std::move(recipe));
    } else if (data.holds(*recipe)) {
      apart.push_back({run.recipe, options.folder / run.folder, assignments_of(run, options), run.evaluations});
    }
  }
  if (packed.size() > 1 || (!packed.empty() && !apart.empty())) {
    throw UsageError(
        "an experiment of packed runs can have one recipe alone; give the other one an experiment of its own");
  }
  const auto jobs = jobs_of(options);
  for (auto& [name, sweep] : packed) {
    sweep.recipe = name;
    sweep.assignments = options.assignments;
    sweep.folder = options.folder;
    sweep.device = options.device;
    sweep.threads = jobs.at_once;
    train_packed(sweep);
  }
  return train_apart(std::move(apart), jobs);
}

}  // namespace quest::app
