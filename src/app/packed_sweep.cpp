#include "app/packed_sweep.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "app/interrupt.h"
#include "app/run_start.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "base/clock.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"
#include "train/run/packed_runs.h"
#include "train/run/run_folder.h"

namespace quest::app {
namespace {

using Settings = std::map<std::string, std::string>;

// What differs from what all runs of the folder share; texts without quotes.
Settings differing_settings(const TaskRecipe& run, const TaskRecipe& shared) {
  Settings settings;
  const auto common = shared.fields().entries();
  const auto own = run.fields().entries();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].value == common[i].value) continue;
    const bool is_text = own[i].value.starts_with('"');
    settings[own[i].key] = is_text ? nlohmann::json::parse(own[i].value).get<std::string>() : own[i].value;
  }
  return settings;
}

struct Missing {
  std::vector<const domains::PackedRun*> runs;
  std::vector<Settings> settings;
};

Missing missing_runs(const PackedSweep& sweep, const TaskRecipe& shared) {
  const auto kept = train::read_packed_runs(sweep.folder);
  for (const auto& problem : kept.problems) std::cerr << problem << "\n";
  std::set<Settings> done;
  for (const auto& run : kept.runs) done.insert(run.settings);
  Missing missing;
  for (const auto& run : sweep.runs) {
    auto settings = differing_settings(*run, shared);
    if (!done.insert(settings).second) continue;
    missing.runs.push_back(&run->packed_run());
    missing.settings.push_back(std::move(settings));
  }
  return missing;
}

void check(const PackedSweep& sweep, const TaskRecipe& shared) {
  RunRequest request;
  request.recipe = sweep.recipe;
  request.folder = sweep.folder;
  request.resume = true;
  check_run(request, shared);
}

void describe(const PackedSweep& sweep, const train::RunFolder& folder, const TaskRecipe& shared) {
  if (folder.holds_run()) return;
  describe_run(folder, shared,
               {{"recipe", sweep.recipe},
                {"versions", {{"quest", quest_version()}, {"torch", torch_version()}}},
                {"device", sweep.device},
                {"threads", sweep.threads}});
}

std::string ending(std::size_t missing, std::size_t finished) {
  return finished < missing ? "interrupted" : "finished";
}

}  // namespace

void train_packed(const PackedSweep& sweep) {
  const TaskRecipe shared(settings_of(sweep.recipe, sweep.assignments));
  train::RunFolder folder(sweep.folder);
  check(sweep, shared);
  const auto missing = missing_runs(sweep, shared);
  const auto all = missing.runs.size();
  std::cerr << sweep.runs.size() << " runs, " << sweep.runs.size() - all << " of them have ended in "
            << sweep.folder.string() << " already\n";
  std::optional<train::PackedRunFile> file;  // made when the task has found that it can train
  const auto begin = [&] {
    if (file) return;
    describe(sweep, folder, shared);
    file.emplace(sweep.folder);
  };
  const InterruptRequest interrupt;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  const double start = base::steady_seconds();
  double done = 0.0;
  std::size_t finished = 0;
  if (all > 0) {
    shared.entry().packed()->train(
        missing.runs, {.device = sweep.device,
                       .threads = sweep.threads,
                       .on_finished =
                           [&](std::span<const std::pair<std::size_t, train::PackedResult>> results) {
                             std::vector<train::PackedRunLine> lines;
                             for (const auto& [place, result] : results)
                               lines.push_back({missing.settings[place], result});
                             begin();
                             file->add(lines);
                             finished += lines.size();
                           },
                       .on_progress =
                           [&](double runs) {
                             begin();
                             done += runs;
                             progress.update(std::min(1.0, done / static_cast<double>(all)),
                                             terminal::fixed(done, 0) + " of " + std::to_string(all) + " runs, " +
                                                 terminal::three_digits(done / (base::steady_seconds() - start)) +
                                                 " per second");
                           },
                       .should_stop = InterruptRequest::made});
  }
  progress.clear();
  begin();
  folder.update({{"status", ending(all, finished)}, {"ended", train::utc_now()}});
  if (finished < all) {
    throw Interrupted("stopped; " + std::to_string(finished) + " of " + std::to_string(all) +
                      " runs are finished and kept in " + sweep.folder.string() +
                      ". The same command goes on from there.");
  }
  if (all > 0) {
    const double seconds = base::steady_seconds() - start;
    std::cerr << all << " runs in " << terminal::duration_text(seconds) << ", "
              << terminal::three_digits(static_cast<double>(all) / seconds) << " per second\n";
  }
}

}  // namespace quest::app
