// `quest paper timeseries`: the paper's tables of the time-series experiment beside ours, and the trainings behind
// them.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "cli/commands.h"
#include "app/json_file.h"
#include "cli/time_series_report.h"
#include "cli/time_series_sweep.h"
#include "app/usage_error.h"
#include "domains/timeseries/time_series_results.h"

namespace quest::cli {
namespace {

struct TimeSeriesCommand {
  TimeSeriesSweep sweep;
  std::string runs = "runs";
  std::string json_path;
  bool train = false;
};

void print_results(const std::filesystem::path& folder, const std::string& json_path) {
  const auto trainings = timeseries::read_time_series(folder);
  const auto summaries = timeseries::summarize(trainings);
  std::cout << time_series_paper_tables(summaries);
  if (summaries.empty()) {
    std::cout << "No training has ended in \"" << folder.string()
              << "\" yet; `quest paper timeseries --train` trains what is missing.\n";
  } else {
    std::cout << "\n" << time_series_results_table(summaries) << "\npage: quest report " << folder.string() << "\n";
  }
  for (const auto& training : trainings) {
    if (timeseries::has_ended_well(training.status)) continue;
    std::cout << "not counted: " << training.folder.string() << " (" << training.status << ")\n";
  }
  app::write_json_file(json_path, time_series_json(summaries));
}

void run_time_series(TimeSeriesCommand command, bool asks_for_trainings) {
  if (asks_for_trainings && !command.train) {
    throw app::UsageError("options of the trainings were given without --train; add it, or take them out to only look");
  }
  app::require_writable(command.json_path);
  command.sweep.folder = std::filesystem::path(command.runs) / "timeseries";
  const std::size_t failed = command.train ? train_time_series(command.sweep) : 0;
  print_results(command.sweep.folder, command.json_path);
  if (failed > 0) {
    throw std::runtime_error(std::to_string(failed) +
                             " trainings failed, as told above; the same command tries those again");
  }
}

}  // namespace

void add_time_series_paper_command(CLI::App& program) {
  auto* paper = program.get_subcommand("paper");
  auto* command = paper->add_subcommand(
      "timeseries", "Time series of the UEA archive: the paper's tables beside ours; --train trains what is missing");
  const auto state = std::make_shared<TimeSeriesCommand>();
  auto& sweep = state->sweep;
  auto* runs = command->add_option("--runs", state->runs, "Where run folders lie; ours in timeseries/")
                   ->capture_default_str()
                   ->type_name("FOLDER");
  command->add_option("--json", state->json_path, "Write the results to this file")->type_name("FILE");
  command->add_flag("--train", state->train, "Train what is missing, then print; may be stopped and started again");
  auto* trainings = command->add_option_group("With --train");
  trainings->add_option("--data", sweep.data_sets, "Data sets; by default those of the paper that are at hand")
      ->delimiter(',')
      ->type_name("NAME,...");
  trainings->add_option("--formulations", sweep.formulations, "Which attention")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME,...");
  trainings->add_option("--protocols", sweep.protocols, "What chooses the weights: paper, holdout")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME,...");
  trainings->add_option("--heads", sweep.heads, "What the classifier reads: class_token, concatenation")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME,...");
  trainings->add_option("--seeds", sweep.seeds, "Trainings of each kind, with seeds from 0")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  trainings->add_option("--set", sweep.assignments, "Change a key of the recipe, for all; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  trainings->add_option("--device", sweep.device, "Where to train; auto: on a GPU where there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  trainings->add_option("--jobs", sweep.jobs, "Trainings at a time, a thread each; by default one a core, one on a GPU")
      ->check(CLI::Range(1, 1024));
  command->callback([=] {
    const auto* runs_of_all = paper->get_option("--runs");
    if (runs->count() == 0 && runs_of_all->count() > 0) state->runs = runs_of_all->as<std::string>();
    run_time_series(*state, trainings->count_all() > 0);
  });
}

}  // namespace quest::cli
