#include "base/clock.h"
#include "app/machine.h"
#include "cli/time_series_sweep.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/children.h"
#include "app/interrupt.h"
#include "terminal/progress.h"
#include "bench/python_clock.h"
#include "terminal/table.h"
#include "app/task_recipe.h"
#include "terminal/terminal.h"
#include "cli/toy_options.h"
#include "app/train_options.h"
#include "data/sets/uea_locator.h"
#include "domains/timeseries/time_series_results.h"
#include "train/run/run_folder.h"

namespace quest::cli {
namespace {

using timeseries::TimeSeriesSetting;

constexpr const char* kTask = "timeseries";
constexpr const char* kRecipe = "timeseries";
constexpr const char* kLogFile = "log.txt";
constexpr double kSecondsBetweenLines = 30.0;  // where no terminal shows a bar

// Seeds share the cores without slowing each other when each keeps to one.
const std::array<std::string, 2> kOneThread = {"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"};

struct Training {
  std::filesystem::path folder;
  std::vector<std::string> assignments;
};

void fetch(const std::string& name) {
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  try {
    (void)data::fetch_uea(name, data::uea_cache(), app::default_python(),
                          [&](double done) { progress.update(done, "fetching " + name); });
  } catch (const std::runtime_error& error) {
    progress.clear();
    std::cerr << error.what() << "\n";
  }
}

bool is_at_hand(const std::string& name) { return data::find_time_series({.name = name}).has_value(); }

// Those that can be trained on; the others are told.
std::vector<std::string> data_sets_at_hand(const TimeSeriesSweep& sweep) {
  auto names = sweep.data_sets;
  if (names.empty()) names.assign(data::kUeaDataSets.begin(), data::kUeaDataSets.end());
  std::vector<std::string> missing;
  std::erase_if(names, [&](const std::string& name) {
    if (!is_at_hand(name) && data::is_in_a_package(name)) fetch(name);
    const bool is_missing = !is_at_hand(name);
    if (is_missing) missing.push_back(name);
    return is_missing;
  });
  if (missing.empty()) return names;
  const auto folders = data::time_series_folders({});
  std::cerr << data::how_to_get_uea(missing.front(), folders) << "\n";
  for (std::size_t i = 1; i < missing.size(); ++i) std::cerr << (i == 1 ? "Likewise: " : ", ") << missing[i];
  std::cerr << (missing.size() > 1 ? "\n" : "");
  return names;
}

std::vector<std::string> app::assignments_of(const TimeSeriesSweep& sweep, const TimeSeriesSetting& setting,
                                        std::uint64_t seed) {
  std::vector<std::string> assignments = {"train.monitor_every=0"};
  assignments.insert(assignments.end(), sweep.assignments.begin(), sweep.assignments.end());
  assignments.insert(assignments.end(), {"data.name=" + setting.data_set, "data.protocol=" + setting.protocol,
                                         "model.head=" + setting.head, "model.formulation=" + setting.formulation,
                                         "seed=" + std::to_string(seed)});
  return assignments;
}

// Seed by seed, so that an early look sees every column. Throws train::RecipeError for what a recipe does not take.
std::vector<Training> trainings_of(const TimeSeriesSweep& sweep, const std::vector<std::string>& data_sets) {
  std::vector<Training> trainings;
  for (std::uint64_t seed = 0; seed < sweep.seeds; ++seed) {
    for (const auto& data_set : data_sets) {
      for (const auto& protocol : sweep.protocols) {
        for (const auto& head : sweep.heads) {
          for (const auto& formulation : sweep.formulations) {
            const TimeSeriesSetting setting{data_set, protocol, head, formulation};
            trainings.push_back({.folder = sweep.folder / timeseries::time_series_path(setting, seed),
                                 .assignments = app::assignments_of(sweep, setting, seed)});
          }
        }
      }
    }
  }
  return trainings;
}

void check(const TimeSeriesSweep& sweep, const std::vector<Training>& trainings) {
  for (const auto& name : sweep.data_sets) {
    const bool is_known = std::ranges::find(data::kUeaDataSets, name) != data::kUeaDataSets.end();
    if (!is_known) (void)data::require_time_series({.name = name});
  }
  for (const auto& training : trainings) {
    const app::TaskRecipe recipe(app::find_task(kTask), app::settings_of(kRecipe, training.assignments));
  }
}

bool has_ended(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / train::kRunFile)) return false;
  return timeseries::has_ended_well(train::read_run_file(folder).value("status", ""));
}

base::Child child_of(const Training& training, const std::string& device) {
  base::Child child{
      .arguments = {std::filesystem::read_symlink("/proc/self/exe").string(), "train", kTask, "--recipe", kRecipe},
      .log = training.folder / kLogFile};
  for (const auto& assignment : training.assignments) {
    child.arguments.insert(child.arguments.end(), {"--set", assignment});
  }
  child.arguments.insert(child.arguments.end(),
                         {"--device", device, "--threads", "1", "--resume", "--run", training.folder.string()});
  return child;
}

// What is needed to go on is not needed any more; the best weights stay.
void tidy(const std::filesystem::path& folder) {
  std::filesystem::remove(folder / train::kResumeCheckpoint);
  std::filesystem::remove(folder / train::kLastWeights);
}

// Of those that failed.
std::size_t run(const std::vector<Training>& trainings, const std::string& device, std::size_t jobs) {
  std::vector<base::Child> children;
  for (const auto& training : trainings) {
    std::filesystem::create_directories(training.folder);
    children.push_back(child_of(training, device));
  }
  const app::InterruptRequest interrupt;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal(), base::steady_seconds, kSecondsBetweenLines);
  const double start = base::steady_seconds();
  std::size_t done = 0;
  std::size_t failed = 0;
  const auto on_end = [&](std::size_t child, int exit_code) {
    if (exit_code == 0) {
      ++done;
      return tidy(trainings[child].folder);
    }
    if (app::InterruptRequest::made()) return;
    ++failed;
    progress.clear();
    std::cerr << trainings[child].folder.string() << " failed with exit code " << exit_code << ": "
              << base::last_line(children[child].log) << "\n";
  };
  const auto meanwhile = [&] {
    const auto ended = static_cast<double>(done + failed);
    const double hours = (base::steady_seconds() - start) / 3600.0;
    progress.update(ended / static_cast<double>(trainings.size()),
                    std::to_string(done) + " of " + std::to_string(trainings.size()) + " trainings, " +
                        terminal::three_digits(static_cast<double>(done) / hours) + " per hour");
  };
  base::run_children(children, jobs, kOneThread,
               {.on_end = on_end, .meanwhile = meanwhile, .should_stop = app::InterruptRequest::made});
  progress.clear();
  if (app::InterruptRequest::made() && done + failed < trainings.size()) {
    throw app::Interrupted("stopped; " + std::to_string(done) + " of " + std::to_string(trainings.size()) +
                      " trainings ended meanwhile, and the others keep their checkpoints. The same command goes on "
                      "from there.");
  }
  std::cerr << done << " trainings in " << terminal::duration_text(base::steady_seconds() - start) << ", "
            << terminal::three_digits(3600.0 * static_cast<double>(done) / (base::steady_seconds() - start)) << " per hour\n";
  return failed;
}

}  // namespace

std::size_t train_time_series(const TimeSeriesSweep& sweep) {
  check(sweep, trainings_of(sweep, sweep.data_sets.empty() ? std::vector<std::string>{"any"} : sweep.data_sets));
  const auto device = app::use_machine({.device = sweep.device, .threads = 1});
  auto trainings = trainings_of(sweep, data_sets_at_hand(sweep));
  const auto all = trainings.size();
  std::erase_if(trainings, [](const Training& training) { return has_ended(training.folder); });
  std::cerr << all << " trainings, " << all - trainings.size() << " of them have ended in " << sweep.folder.string()
            << " already\n";
  if (trainings.empty()) return 0;
  const int jobs = sweep.jobs > 0 ? sweep.jobs : device.is_cpu() ? app::default_threads() : 1;
  return run(trainings, device.is_cpu() ? "cpu" : "cuda", static_cast<std::size_t>(jobs));
}

}  // namespace quest::cli
