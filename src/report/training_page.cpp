#include "report/training_page.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/quartiles.h"
#include "report/attention_figures.h"
#include "report/charts/markup.h"
#include "report/charts/palette.h"
#include "report/charts/table.h"
#include "report/evaluation_table.h"
#include "report/file_figures.h"
#include "report/page/page_parts.h"
#include "report/training_figures.h"
#include "train/run/run_folder.h"

namespace quest::report {
namespace {

using train::ExplosionWarning;

constexpr std::size_t kMostWarnings = 100;

// Those of the best evaluation, where the run wrote them down; else of the last.
std::map<std::string, double> result_metrics(const TrainingRun& run) {
  if (const EvaluationFile* best = run.evaluated.best()) return {best->metrics.begin(), best->metrics.end()};
  return run.evaluations.empty() ? std::map<std::string, double>{} : run.evaluations.back().metrics;
}

std::set<std::string> metric_names(std::span<const NamedRun> runs) {
  std::set<std::string> names;
  for (const NamedRun& run : runs) {
    for (const auto& [name, value] : result_metrics(*run.run)) names.insert(name);
  }
  return names;
}

base::Cell metric_cell(const TrainingRun& run, const std::string& name) {
  const auto metrics = result_metrics(run);
  const auto found = metrics.find(name);
  return found == metrics.end() ? base::Cell("–") : number_cell(found->second);
}

// Logged, or remembered for the story of a crash.
train::StepReport last_step(const TrainingRun& run) {
  if (!run.steps.empty()) return run.steps.back();
  const auto& crash = run.crash;
  return crash && !crash->steps.empty() ? crash->steps.back() : train::StepReport{};
}

base::Cell throughput_cell(const TrainingRun& run) {
  std::vector<double> values;
  values.reserve(run.steps.size());
  for (const auto& step : run.steps) values.push_back(step.samples_per_second);
  const auto middle = base::quartiles(values);
  return middle ? number_cell(middle->middle) : base::Cell("–");
}

std::string results_table(std::span<const NamedRun> runs) {
  base::Table table{
      .caption = "What the runs ended with, or have reached so far; metrics are those of the best evaluation",
      .columns = {"run", "steps"}};
  const auto names = metric_names(runs);
  for (const std::string& name : names) table.columns.emplace_back(name);
  for (const char* column : {"training loss", "samples per second", "warnings", "status"}) {
    table.columns.emplace_back(column);
  }
  for (const NamedRun& named : runs) {
    const TrainingRun& run = *named.run;
    std::vector<base::Cell> row = {named.name, count_cell(last_step(run).step)};
    for (const std::string& name : names) row.push_back(metric_cell(run, name));
    row.push_back(number_cell(last_step(run).loss));
    row.push_back(throughput_cell(run));
    row.push_back(count_cell(static_cast<std::int64_t>(run.warnings.size())));
    row.emplace_back(run.told("status"));
    table.add_row(std::move(row));
  }
  return table_html(table);
}

std::string warnings_table(std::span<const NamedRun> runs) {
  base::Table table{
      .caption = "Heads whose largest logit doubled within 200 steps, in order",
      .columns = {"run", "step", "layer", "head", "max logit before", "max logit", "key norm before", "key norm"}};
  std::size_t left_out = 0;
  for (const NamedRun& run : runs) {
    const auto& warnings = run.run->warnings;
    const std::size_t shown = std::min(warnings.size(), kMostWarnings);
    left_out += warnings.size() - shown;
    for (const ExplosionWarning& warning : std::span(warnings).first(shown)) {
      table.add_row({run.name, count_cell(warning.now.step), warning.layer,
                     count_cell(static_cast<std::int64_t>(warning.head)), number_cell(warning.before.max_logit),
                     number_cell(warning.now.max_logit), number_cell(warning.before.key_norm),
                     number_cell(warning.now.key_norm)});
    }
  }
  if (table.rows.empty()) return "";
  const std::string rest =
      left_out == 0 ? "" : paragraph(grouped(static_cast<long long>(left_out)) + " later warnings are left out.");
  return card(table_html(table) + rest);
}

// Which head's logit grew first, among those of the last steps.
std::string crash_story(const TrainingRun& run, const Crash& crash) {
  std::string text = "Crashed at iteration " + grouped(crash.iteration) + ": " + crash.reason + ". ";
  if (run.layers.empty()) return text + "Attention was not watched.";
  const std::int64_t oldest = crash.iteration - train::ExplosionOptions{}.within_steps;
  const auto first =
      std::ranges::find_if(run.warnings, [&](const auto& warning) { return warning.now.step >= oldest; });
  if (first != run.warnings.end()) {
    return text + "The first logit to grow in the last 200 steps, at step " + grouped(first->now.step) + ": " +
           first->text() + ".";
  }
  if (!run.warnings.empty()) {
    return text + "No logit doubled in the last 200 steps; the last that did, at step " +
           grouped(run.warnings.back().now.step) + ": " + run.warnings.back().text() + ".";
  }
  return text + "No head's largest logit doubled before it, so attention is not where it began.";
}

std::string best_text(const TrainingRun& run) {
  const EvaluationFile* best = run.evaluated.best();
  if (best == nullptr) return "";
  const auto step = best->facts.find("step");
  const bool is_known = step != best->facts.end() && step->is_number_integer();
  return "; best evaluation" + (is_known ? " at step " + grouped(step->get<std::int64_t>()) : "");
}

std::string lead(std::span<const NamedRun> runs) {
  std::string markup;
  for (const NamedRun& named : runs) {
    const TrainingRun& run = *named.run;
    std::string text = named.name + ": " + run.told("status");
    text += ", " + grouped(last_step(run).step) + " steps" + best_text(run);
    for (const auto& [name, value] : result_metrics(run)) text += ", " + name + " " + compact(value);
    markup += paragraph(text + ".", "lead");
    const auto& crash = run.crash;
    if (crash) markup += paragraph(crash_story(run, *crash), "notice");
  }
  return markup;
}

std::string problem_list(std::span<const NamedRun> runs) {
  std::vector<std::string> problems;
  for (const NamedRun& run : runs) {
    std::ranges::copy(run.run->evaluated.problems, std::back_inserter(problems));
    std::ranges::copy(run.run->figures.problems, std::back_inserter(problems));
  }
  return problems.empty() ? "" : card(bullet_list(problems));
}

std::vector<Figure> figures_of_files(std::span<const NamedRun> runs) {
  std::vector<RunFigures> of_runs;
  for (const NamedRun& run : runs) of_runs.push_back({run.name, run.run->figures.figures});
  return file_figures(of_runs);
}

std::string description_table(const TrainingRun& run) {
  base::Table table{.caption = "As run.json has it", .columns = {"key", "value"}};
  for (const auto& [key, value] : run.description.items()) table.add_row({key, run.told(key)});
  return card(table_html(table));
}

std::string recipe_text(const TrainingRun& run) {
  if (run.recipe.empty()) return paragraph("The folder holds no recipe.");
  return card(element("pre", {{"tabindex", "0"}, {"role", "region"}, {"aria-label", "Recipe"}}, escaped(run.recipe)));
}

void check(std::span<const TrainingRun> runs) {
  if (runs.empty()) throw std::runtime_error("expected at least one run to report on, got none");
  if (runs.size() > kSeriesColors) {
    throw std::runtime_error("expected at most " + std::to_string(kSeriesColors) +
                             " training runs on a page, which has as many colours, got " + std::to_string(runs.size()));
  }
  for (const TrainingRun& run : runs) {
    if (run.steps.empty() && !run.crash) {
      throw std::runtime_error("\"" + (run.path / train::kMetricsFile).string() +
                               "\" was expected to hold logged steps and holds none; let the run go on first");
    }
  }
}

}  // namespace

Report training_report(std::span<const TrainingRun> all) {
  check(all);
  std::vector<std::filesystem::path> folders;
  for (const TrainingRun& run : all) folders.push_back(run.path);
  const auto names = run_names(folders);
  std::vector<NamedRun> runs;
  runs.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) runs.push_back({names[i], &all[i]});

  const bool alone = runs.size() == 1;
  Report report{.page = {.title = alone ? "Training run " + names[0] : "Training runs",
                         .lead = lead(runs),
                         .sections = {},
                         .footer = kPageHelp}};
  report.page.sections.push_back({"results", "Results", card(results_table(runs))});
  add_section(report, {"curves", "Curves", ""}, curve_figures(runs));
  add_section(report, {"evaluations", "Evaluations", evaluation_table(runs)}, figures_of_files(runs));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& crash = all[i].crash;
    if (!crash) continue;
    const std::string prefix = alone ? "" : "run" + std::to_string(i + 1) + "-";
    add_section(report, {prefix + "crashed", (alone ? "" : names[i] + ": ") + "The crash", ""},
                {crash_figure(runs[i], *crash, prefix)});
  }
  add_section(report, {"attention", "Attention, layer by layer", warnings_table(runs)}, attention_figures(runs));
  add_section(report, {"problems", "What could not be read", problem_list(runs)});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string prefix = alone ? "" : "run" + std::to_string(i + 1) + "-";
    report.page.sections.push_back({prefix + "recipe", (alone ? "" : names[i] + ": ") + "Recipe",
                                    recipe_text(all[i]) + description_table(all[i])});
  }
  return report;
}

}  // namespace quest::report
