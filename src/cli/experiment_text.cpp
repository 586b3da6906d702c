#include "cli/experiment_text.h"

#include <iostream>

#include "paper/comparison.h"

namespace quest::cli {
namespace {

void print_problems(const paper::Runs& runs, const Comparisons& comparisons) {
  for (const auto* problems : {&runs.problems, &comparisons.problems}) {
    for (const auto& problem : *problems) std::cout << "left out: " << problem << "\n";
  }
  for (const auto& run : runs.runs) {
    if (!paper::has_ended_well(run.status)) {
      std::cout << "not counted: " << run.folder.string() << " (" << run.status << ")\n";
    }
  }
}

}  // namespace

std::string command_text(const paper::Experiment& experiment) {
  return experiment.sweep.empty() ? "" : "quest paper " + experiment.name + " --train";
}

void print_experiment(const paper::Experiment& experiment, const KnownRuns& known, const Comparisons& comparisons,
                      terminal::TableStyle style) {
  std::cout << experiment.title << ": " << experiment.summary << "\n\n";
  for (const auto& comparison : comparisons.items) {
    const auto& item = *comparison.item;
    std::cout << item.label << ": " << item.shows << " (" << paper::state_name(item.state) << ")\n";
    if (!item.rows.empty()) std::cout << "\n" << terminal::render(paper::table_of(comparison), style);
    std::cout << "\n";
  }
  print_problems(known.runs, comparisons);
  if (experiment.sweep.empty()) {
    std::cout << "Nothing of this runs here yet.\n";
  } else if (known.runs.runs.empty()) {
    std::cout << "No run has ended in \"" << known.folder.string() << "\" yet; `" << command_text(experiment)
              << (known.is_small ? " --small" : "") << "` trains what is missing.\n";
  } else {
    std::cout << "Ours: mean ± deviation (runs). page: quest report " << known.folder.string() << "\n";
  }
}

}  // namespace quest::cli
