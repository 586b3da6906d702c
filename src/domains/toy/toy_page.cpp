#include "domains/toy/toy_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "domains/toy/toy_folder.h"
#include "report/charts/markup.h"
#include "report/page/page_parts.h"
#include "report/charts/table.h"
#include "domains/toy/toy_figures.h"

namespace quest::toy {
namespace {


report::Cell paper_cell(const std::string& formulation) {
  const auto rate = paper_success_rate(formulation);
  if (!rate) return "–";
  return {(*rate == 0.0 ? "about " : "") + report::percent(*rate), *rate};
}

// The success rates of the data sets differ: a spread that trainings on one data set would hide.
report::Cell spread_cell(const ToyRun& run, const std::string& formulation) {
  double least = 1.0;
  double most = 0.0;
  for (int realization = 0; realization < run.settings.realizations; ++realization) {
    int all = 0;
    int correct = 0;
    for (const ToyResult& result : run.results) {
      if (result.training.formulation != formulation || result.training.realization != realization) continue;
      ++all;
      correct += result.outcome() == Outcome::correct ? 1 : 0;
    }
    if (all == 0) continue;
    least = std::min(least, static_cast<double>(correct) / all);
    most = std::max(most, static_cast<double>(correct) / all);
  }
  if (least > most) return "–";
  return {report::number(100.0 * least, 0) + " to " + report::percent(most), least};
}

report::Cell success_cell(const ToySummary& summary) {
  if (summary.trainings == 0) return "–";
  return {report::percent(summary.success_rate()), summary.success_rate()};
}

report::Cell count_cell(int count) { return {report::grouped(count), static_cast<double>(count)}; }

std::string outcome_table(const ToyRun& run) {
  report::Table table{.caption = "What became of the trainings",
              .columns = {"formulation", "success", "paper", "by data set"},
              .rows = {}};
  for (const Outcome outcome : kOutcomes) table.columns.emplace_back(outcome_name(outcome));
  table.columns.emplace_back("trainings");
  for (const ToySummary& summary : summarize(run.settings, run.results)) {
    std::vector<report::Cell> row = {summary.formulation, success_cell(summary), paper_cell(summary.formulation),
                             spread_cell(run, summary.formulation)};
    for (const int count : summary.outcomes) row.push_back(count_cell(count));
    row.push_back(count_cell(summary.trainings));
    table.rows.push_back(std::move(row));
  }
  return report::table_html(table);
}

std::string outcome_notes() {
  std::string items;
  for (const Outcome outcome : kOutcomes) {
    items += report::element("dt", {}, report::escaped(outcome_name(outcome))) +
             report::element("dd", {}, report::escaped(outcome_meaning(outcome)));
  }
  return report::element("dl", {}, items) +
         report::paragraph(
             "Success is the share of correct trainings; “by data set” gives the lowest and the highest success "
             "among the data sets. A dash under “paper” is a rate that the paper draws and does not state.");
}

std::string settings_text(const nlohmann::ordered_json& value) {
  if (!value.is_array()) return value.is_string() ? value.get<std::string>() : value.dump();
  std::string text;
  for (const auto& one : value) text += (text.empty() ? "" : ", ") + settings_text(one);
  return text;
}

std::string settings_table(const ToyRun& run) {
  report::Table table{.caption = "As stored in the run folder", .columns = {"setting", "value"}, .rows = {}};
  const auto settings = to_json(run.settings);
  for (const auto& [key, value] : settings.items()) {
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    table.rows.push_back({name, settings_text(value)});
  }
  table.rows.push_back({"written by", run.program});
  return report::table_html(table);
}

std::string unfinished_notice(const ToyRun& run) {
  const auto all = trainings_of(run.settings).size();
  if (run.results.size() == all) return "";
  return report::paragraph("This run is unfinished: " + report::grouped(static_cast<long long>(run.results.size())) + " of " +
                       report::grouped(static_cast<long long>(all)) +
                       " trainings. Everything below counts those; the command that started the run goes on with it.",
                   "notice");
}

std::string success_sentence(const ToyRun& run) {
  std::string text;
  for (const ToySummary& summary : summarize(run.settings, run.results)) {
    if (summary.trainings == 0) continue;
    text += (text.empty() ? "" : ", ") + summary.formulation + " " + report::percent(summary.success_rate());
  }
  return text;
}

std::string size_sentence(const ToyRun& run) {
  const auto& settings = run.settings;
  const auto counted = [](auto count, const std::string& one, const std::string& many) {
    return report::grouped(static_cast<long long>(count)) + " " + (count == 1 ? one : many);
  };
  return counted(run.results.size(), "training", "trainings") + " of " +
         counted(settings.formulations.size(), "formulation", "formulations") + ", over " +
         counted(settings.learning_rates.size(), "learning rate", "learning rates") + ", " +
         counted(settings.weight_decays.size(), "weight decay", "weight decays") + ", " +
         counted(settings.realizations, "data set", "data sets") + " and " +
         counted(settings.initializations, "initialisation", "initialisations") + "; " +
         counted(settings.sizes.training_samples, "sample", "samples") + ", wiring " + run.wiring_text() + ".";
}

std::string lead(std::span<const ToyRun> runs) {
  std::string markup = report::paragraph(
      "A tiny transformer has to find the one token that differs from the rest and to tell its class. In half of the "
      "training samples that token also carries a fixed pattern: easier to learn, and absent from the test. A model "
      "that settles for the pattern fails.");
  if (runs.size() == 1) {
    markup = report::paragraph("Trainings that found the right cue: " + success_sentence(runs.front()) + ".", "lead") + markup +
             report::paragraph(size_sentence(runs.front()));
  }
  return markup;
}

report::Section comparison(std::span<const ToyRun> runs, std::span<const std::string> names) {
  report::Table table{.caption = "Success rates",
              .columns = {"run", "formulation", "success", "paper", "trainings", "wiring", "samples", "tokens"},
              .rows = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ToyRun& run = runs[i];
    const auto& settings = run.settings;
    for (const ToySummary& summary : summarize(settings, run.results)) {
      table.rows.push_back({names[i], summary.formulation, success_cell(summary), paper_cell(summary.formulation),
                            count_cell(summary.trainings), run.wiring_text(),
                            count_cell(settings.sizes.training_samples), count_cell(settings.sizes.tokens)});
    }
  }
  return {.id = "runs", .title = "Runs side by side", .body = report::card(report::table_html(table))};
}

void add_run(report::Report& report, const ToyRun& run, const std::string& name, const std::string& prefix) {
  const std::string of_run = name.empty() ? "" : name + ": ";
  const auto figures = toy_figures(run, prefix);
  auto& sections = report.page.sections;
  sections.push_back(
      {prefix + "outcomes", of_run + "Outcomes", unfinished_notice(run) + report::card(outcome_table(run) + outcome_notes())});
  sections.push_back({prefix + "grid", of_run + "Success over the grid", report::figure_html(figures.success)});
  sections.push_back({prefix + "accuracies", of_run + "Accuracies", report::all_html(figures.accuracies)});
  sections.push_back({prefix + "norms", of_run + "Key norms", report::all_html(figures.norms)});
  sections.push_back({prefix + "settings", of_run + "Settings", report::card(settings_table(run))});
  report.figures.push_back(figures.success);
  std::ranges::copy(figures.accuracies, std::back_inserter(report.figures));
  std::ranges::copy(figures.norms, std::back_inserter(report.figures));
}

}  // namespace

report::Report toy_report(std::span<const ToyRun> runs) {
  if (runs.empty()) throw std::runtime_error("expected at least one run to report on, got none");
  for (const ToyRun& run : runs) {
    if (run.results.empty()) {
      throw std::runtime_error(std::string("\"") + (run.path / kToyResultsFile).string() +
                               "\" was expected to hold finished trainings and holds none; go on with that run first: "
                               "`quest toy --run " +
                               run.path.string() + "`");
    }
  }
  report::Report report{.page = {.title = "Spurious attention", .lead = lead(runs), .sections = {}, .footer = report::kPageHelp}};
  std::vector<std::filesystem::path> folders;
  for (const ToyRun& run : runs) folders.push_back(run.path);
  const auto names = report::run_names(folders);
  const bool alone = runs.size() == 1;
  if (!alone) report.page.sections.push_back(comparison(runs, names));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    add_run(report, runs[i], alone ? "" : names[i], alone ? "" : "run" + std::to_string(i + 1) + "-");
  }
  return report;
}

}  // namespace quest::toy
