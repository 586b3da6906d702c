// `quest report`: run folders become a page.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/experiment_runs.h"
#include "domains/domain.h"
#include "report/experiment_page.h"
#include "report/page/write.h"
#include "report/training_page.h"

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

// What the domain of the runs' task adds.
std::vector<report::Figure> figures_of_domain(const std::vector<paper::Run>& runs) {
  if (runs.empty()) return {};
  for (const auto& domain : domains::all()) {
    for (const auto& task : domain.tasks) {
      if (task.name == runs.front().task && domain.figures != nullptr) return domain.figures(runs);
    }
  }
  return {};
}

report::Report report_on_experiment(const std::filesystem::path& folder, const paper::Experiment& experiment) {
  const auto runs = paper::runs_of_experiment(experiment, paper::read_runs(folder));
  return report::experiment_report(experiment, runs, figures_of_domain(runs.runs));
}

report::Report report_on(const std::vector<std::string>& folders) {
  const auto* experiment = folders.size() == 1 ? experiment_of(folders.front()) : nullptr;
  if (experiment != nullptr && !report::is_training_run(folders.front())) {
    return report_on_experiment(folders.front(), *experiment);
  }
  std::vector<report::TrainingRun> runs;
  for (const auto& folder : folders) runs.push_back(report::read_training_run(folder));
  return report::training_report(runs);
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
  command->add_option("runs", state->runs, "Runs of `quest train`; or the folder of one experiment of `quest paper`")
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
