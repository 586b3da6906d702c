// `quest report`: run folders become a page.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "domains/timeseries/time_series_results.h"
#include "domains/toy/toy_read.h"
#include "domains/timeseries/time_series_page.h"
#include "domains/toy/toy_page.h"
#include "report/training_page.h"
#include "report/page/write.h"

namespace quest::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string page;
  std::string figures;
};

std::filesystem::path page_path(const ReportCommand& command) {
  if (!command.page.empty()) return command.page;
  return command.runs.size() == 1 ? std::filesystem::path(command.runs.front()) / "report.html" : "report.html";
}

// Folders of one kind: trainings, or runs of the spurious-attention experiment; or the one folder that
// `quest paper timeseries` trains into.
report::Report report_on(const std::vector<std::string>& folders) {
  if (folders.size() == 1) {
    const auto time_series = timeseries::read_time_series(folders.front());
    if (!time_series.empty()) return timeseries::time_series_report(time_series);
  }
  std::vector<report::TrainingRun> trainings;
  std::vector<toy::ToyRun> toys;
  for (const auto& folder : folders) {
    if (report::is_training_run(folder)) {
      trainings.push_back(report::read_training_run(folder));
    } else {
      toys.push_back(toy::read_toy_run(folder));
    }
  }
  if (!trainings.empty() && !toys.empty()) {
    throw std::runtime_error("expected runs of one kind, got a training (\"" + trainings.front().path.string() +
                             "\") and a run of the spurious-attention experiment (\"" + toys.front().path.string() +
                             "\"); report on them one after the other");
  }
  return trainings.empty() ? toy::toy_report(toys) : report::training_report(trainings);
}

void run_report(const ReportCommand& command) {
  const auto report = report_on(command.runs);
  const auto page = page_path(command);
  report::write_page(report, page);
  if (!command.figures.empty()) report::write_figures(report, command.figures);
  std::cout << page.string() << "\n";
}

}  // namespace

void add_report_command(CLI::App& program) {
  auto* command = program.add_subcommand("report", "Turn run folders into one page that works anywhere");
  const auto state = std::make_shared<ReportCommand>();
  command
      ->add_option("runs", state->runs, "Run folders, as `quest train` or `quest toy` writes them; or runs/timeseries")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--out", state->page, "The page; by default report.html, inside the run folder if there is only one")
      ->type_name("FILE.html");
  command->add_option("--figures", state->figures, "Also write every figure as .svg and .png into this folder")
      ->type_name("FOLDER");
  command->callback([state] { run_report(*state); });
}

}  // namespace quest::cli
