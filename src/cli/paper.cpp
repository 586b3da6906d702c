// `quest paper`: the paper's tables and figures, ours beside them, and the runs behind ours.

#include <CLI/App.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/json_file.h"
#include "app/sweep.h"
#include "app/usage_error.h"
#include "cli/commands.h"
#include "cli/experiment_runs.h"
#include "cli/experiment_text.h"
#include "paper/comparison.h"
#include "terminal/table.h"

namespace quest::cli {
namespace {

using paper::Experiment;

struct PaperCommand {
  std::string experiment;
  std::string runs = "runs";
  std::string json_path;
  bool small = false;
  bool markdown = false;
  bool train = false;
  std::vector<std::string> only;
  std::int64_t seeds = 0;
  app::SweepOptions sweep;
};

terminal::TableStyle style_of(const PaperCommand& command) {
  return command.markdown ? terminal::TableStyle::markdown : terminal::TableStyle::text;
}

base::Table empty_overview() {
  return {.caption = "",
          .columns = {{"", base::Align::left},
                      {"shows", base::Align::left},
                      {"measure", base::Align::left},
                      {"paper", base::Align::left},
                      {"ours", base::Align::left},
                      {"state", base::Align::left}},
          .rows = {}};
}

void add_rows(base::Table& overview, const Experiment& experiment, const Comparisons& comparisons, bool is_small) {
  overview.add_row({experiment.name, command_text(experiment), "", "", "", ""});
  for (const auto& comparison : comparisons.items) {
    const auto texts = paper::headline(comparison);
    overview.add_row({"  " + comparison.item->label, comparison.item->shows, texts.name, texts.paper,
                      texts.ours + (is_small && !texts.ours.empty() ? " (small)" : ""),
                      std::string(paper::state_name(comparison.item->state))});
  }
}

std::string states_text() {
  using enum paper::State;
  std::string text;
  for (const auto state : {full_size, small_version, data_needed, not_yet, nothing_to_run}) {
    std::ptrdiff_t count = 0;
    for (const auto& experiment : paper::experiments()) {
      count += std::ranges::count(experiment.items, state, &paper::Item::state);
    }
    if (count == 0) continue;
    text += std::string(paper::state_name(state)) + " (" + std::to_string(count) +
            "): " + std::string(paper::state_meaning(state)) + "\n";
  }
  return text;
}

void add_json(nlohmann::ordered_json& items, const Experiment& experiment, const Comparisons& comparisons) {
  for (const auto& comparison : comparisons.items) {
    auto json = paper::to_json(comparison);
    json["experiment"] = experiment.name;
    items.push_back(std::move(json));
  }
}

void write_items(const PaperCommand& command, const nlohmann::ordered_json& items) {
  app::write_json_file(command.json_path, nlohmann::ordered_json({{"items", items}}).dump(2) + "\n");
}

void run_overview(const PaperCommand& command) {
  auto overview = empty_overview();
  auto items = nlohmann::ordered_json::array();
  std::size_t left_out = 0;
  for (const auto& experiment : paper::experiments()) {
    const auto known = known_runs(experiment, command.runs, command.small);
    const auto comparisons = comparisons_of(experiment, known.runs);
    add_rows(overview, experiment, comparisons, known.is_small);
    add_json(items, experiment, comparisons);
    for (const auto* problems : {&known.runs.problems, &comparisons.problems}) {
      for (const auto& problem : *problems) std::cerr << "left out: " << problem << "\n";
    }
    left_out += comparisons.problems.size();
  }
  std::cout << terminal::render(overview, style_of(command)) << "\npaper and ours: QUEST / standard attention\n\n"
            << states_text();
  write_items(command, items);
  require_none_left_out(left_out);
}

std::size_t train_missing(const PaperCommand& command, const Experiment& experiment,
                          const std::filesystem::path& folder) {
  if (experiment.sweep.empty()) {
    throw app::UsageError("--train: nothing of the experiment \"" + experiment.name + "\" runs here yet");
  }
  const auto& grids = command.small ? experiment.small : experiment.sweep;
  if (grids.empty())
    throw app::UsageError("--small: the experiment \"" + experiment.name + "\" has no smaller version");
  auto options = command.sweep;
  options.folder = folder;
  return app::run_sweep(paper::planned_runs(paper::narrowed(grids, command.only, command.seeds)), options);
}

void run_paper(const PaperCommand& command, bool asks_for_runs) {
  if (asks_for_runs && !command.train) {
    throw app::UsageError("options of the runs were given without --train; add it, or take them out to only look");
  }
  app::require_writable(command.json_path);
  if (command.experiment.empty()) {
    if (command.train) throw app::UsageError("--train: expected the name of an experiment; " + experiment_names());
    return run_overview(command);
  }
  const auto& experiment = find_experiment(command.experiment);
  const auto folder = experiment_folder(experiment, command.runs, command.small);
  const auto failed = command.train ? train_missing(command, experiment, folder) : 0;
  const auto known = known_runs(experiment, command.runs, command.small);
  const auto comparisons = comparisons_of(experiment, known.runs);
  print_experiment(experiment, known, comparisons, style_of(command));
  auto items = nlohmann::ordered_json::array();
  add_json(items, experiment, comparisons);
  write_items(command, items);
  if (failed > 0) {
    throw std::runtime_error(std::to_string(failed) +
                             " runs failed, as told above; the same command tries those again");
  }
  require_none_left_out(comparisons.problems.size());
}

}  // namespace

void add_paper_command(CLI::App& program) {
  auto* command = program.add_subcommand("paper", "Every table and figure of the paper, ours beside them");
  const auto state = std::make_shared<PaperCommand>();
  command->add_option("experiment", state->experiment, "Only this one, in detail")->type_name("EXPERIMENT");
  command->add_option("--runs", state->runs, "Where run folders lie; those of an experiment in a folder of its name")
      ->capture_default_str()
      ->type_name("FOLDER");
  command->add_flag("--small", state->small, "The version for the machine at hand; its runs lie in NAME-small");
  command->add_flag("--markdown", state->markdown, "Print tables as Markdown");
  command->add_option("--json", state->json_path, "Write every item with the paper's values and ours to this file")
      ->type_name("FILE");
  command->add_flag("--train", state->train, "Train what is missing, then print; may be stopped and started again");
  auto* runs = command->add_option_group("With --train");
  runs->add_option("--only", state->only, "Train for these values of a key alone; may be given many times")
      ->type_name("KEY=VALUE,...")
      ->allow_extra_args(false);
  runs->add_option("--seeds", state->seeds, "Runs of each kind, with seeds from 0")->check(CLI::Range(1, 1000));
  runs->add_option("--set", state->sweep.assignments, "Change a key of all recipes; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  runs->add_option("--device", state->sweep.device, "Where to train; auto: on a GPU where there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  runs->add_option("--jobs", state->sweep.jobs, "Runs at a time; by default one a core, one on a GPU")
      ->check(CLI::Range(1, 1024));
  command->callback([state, runs] { run_paper(*state, runs->count_all() > 0); });
}

}  // namespace quest::cli
