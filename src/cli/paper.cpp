// `quest paper`: the paper's tables and figures, and what became of them here.

#include "paper/paper.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "terminal/table.h"
#include "cli/time_series_report.h"
#include "cli/toy_report.h"
#include "app/usage_error.h"
#include "domains/timeseries/time_series_results.h"
#include "domains/toy/toy_read.h"

namespace quest::cli {
namespace {

using paper::PaperItem;
using paper::PaperState;
using toy::ToyRun;

constexpr std::string_view kToy = "toy";
constexpr std::string_view kTimeSeries = "timeseries";

struct PaperCommand {
  std::string experiment;
  std::string runs = "runs";
};

std::string pair_text(const std::string& quest, const std::string& standard) {
  if (quest.empty() && standard.empty()) return "";
  return (quest.empty() ? "-" : quest) + " / " + (standard.empty() ? "-" : standard);
}

std::string run_line(const ToyRun& run) {
  const auto& settings = run.settings;
  return run.path.string() + ", " + std::to_string(run.results.size()) +
         " trainings (the paper: " + std::to_string(toy::trainings_of(toy::paper_settings()).size()) +
         "), " + std::to_string(settings.sizes.training_samples) + " samples, wiring " + run.wiring_text() + ", " +
         run.program;
}

std::optional<ToyRun> latest_toy_run(const std::string& folder) {
  const auto runs = toy::toy_runs_in(folder);
  if (runs.empty()) return std::nullopt;
  return toy::read_toy_run(runs.front());
}

// Empty for what was not measured.
std::string our_success(const ToyRun& run, std::string_view formulation) {
  const auto summaries = timeseries::summarize(run.settings, run.results);
  const auto found = std::ranges::find(summaries, formulation, &toy::ToySummary::formulation);
  if (found == summaries.end() || found->trainings == 0) return "";
  return terminal::fixed(100.0 * found->success_rate(), 0) + " %";
}

// The runs that items are compared with.
struct OurRuns {
  std::optional<ToyRun> toy;
  std::vector<timeseries::TimeSeriesSummary> time_series;
};

OurRuns our_runs(const std::string& folder) {
  return {.toy = latest_toy_run(folder),
          .time_series =
              timeseries::summarize(timeseries::read_time_series(std::filesystem::path(folder) / kTimeSeries))};
}

std::string ours(const PaperItem& item, const OurRuns& runs) {
  if (item.measure.empty()) return "";
  if (item.experiment == kTimeSeries) return time_series_headline(item.label, runs.time_series);
  if (item.experiment != kToy || !runs.toy) return "";
  return pair_text(our_success(*runs.toy, "quest"), our_success(*runs.toy, "standard"));
}

std::vector<PaperItem> items_of(std::string_view experiment) {
  std::vector<PaperItem> items;
  std::ranges::copy_if(paper::paper_items(), std::back_inserter(items),
                       [&](const PaperItem& item) { return item.experiment == experiment; });
  return items;
}

std::string command_of(const std::vector<PaperItem>& items) {
  const auto found = std::ranges::find_if(items, [](const PaperItem& item) { return !item.command.empty(); });
  return found == items.end() ? "" : std::string(found->command);
}

void print_items(std::span<const std::string_view> names, const OurRuns& runs) {
  terminal::Table table({{"", terminal::Align::left},
               {"shows", terminal::Align::left},
               {"measure", terminal::Align::left},
               {"paper", terminal::Align::left},
               {"ours", terminal::Align::left},
               {"state", terminal::Align::left}});
  for (const auto name : names) {
    const auto items = items_of(name);
    table.add_row({std::string(name), command_of(items), "", "", "", ""});
    for (const PaperItem& item : items) {
      table.add_row({"  " + std::string(item.label), std::string(item.shows), std::string(item.measure),
                     pair_text(std::string(item.quest), std::string(item.standard)), ours(item, runs),
                     std::string(paper::state_name(item.state))});
    }
  }
  std::cout << table.render(terminal::TableStyle::text) << "\npaper and ours: quest / standard\n";
}

void print_states() {
  for (const auto state : {PaperState::full_size, PaperState::small_version, PaperState::data_needed,
                           PaperState::not_yet, PaperState::nothing_to_run}) {
    const auto count = std::ranges::count(paper::paper_items(), state, &PaperItem::state);
    if (count == 0) continue;
    std::cout << paper::state_name(state) << " (" << count << "): " << paper::state_meaning(state) << "\n";
  }
}

void print_all(const PaperCommand& command) {
  const auto runs = our_runs(command.runs);
  const auto& toy = runs.toy;
  print_items(paper::paper_experiments(), runs);
  std::cout << "our toy: " << (toy ? run_line(*toy) : "no run in \"" + command.runs + "\"; start with `quest toy`")
            << "\n\n";
  print_states();
}

void print_toy(const PaperCommand& command) {
  const auto toy = latest_toy_run(command.runs);
  print_items({{kToy}}, {.toy = toy, .time_series = {}});
  if (!toy) {
    std::cout << "ours: no run in \"" << command.runs << "\"; start with `quest toy`\n";
    return;
  }
  std::cout << "ours: " << run_line(*toy) << "\n"
            << "page: quest report " << toy->path.string() << "\n\n"
            << toy_outcome_table(timeseries::summarize(toy->settings, toy->results));
}

void run_paper(const PaperCommand& command) {
  const auto known = paper::paper_experiments();
  if (command.experiment.empty()) {
    print_all(command);
  } else if (command.experiment == kToy) {
    print_toy(command);
  } else if (const auto found = std::ranges::find(known, command.experiment); found != known.end()) {
    print_items({{*found}}, {});
    std::cout << "Nothing of this runs here yet.\n";
  } else {
    std::string names;
    for (const auto name : known) names += (names.empty() ? "" : ", ") + std::string(name);
    throw app::UsageError("expected an experiment of the paper, one of " + names + "; got \"" + command.experiment + "\"");
  }
}

}  // namespace

void add_paper_command(CLI::App& program) {
  auto* command = program.add_subcommand("paper", "Every table and figure of the paper, and our figures beside them");
  const auto state = std::make_shared<PaperCommand>();
  command->add_option("experiment", state->experiment, "Only this one, in detail")->type_name("EXPERIMENT");
  command->add_option("--runs", state->runs, "Where run folders lie")->capture_default_str()->type_name("FOLDER");
  command->callback([state, command] {
    if (command->get_subcommands().empty()) run_paper(*state);
  });
}

}  // namespace quest::cli
