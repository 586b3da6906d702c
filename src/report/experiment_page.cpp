#include "report/experiment_page.h"

#include <algorithm>
#include <stdexcept>

#include "paper/comparison.h"
#include "report/charts/markup.h"
#include "report/charts/table.h"
#include "report/comparison_figure.h"
#include "report/page/page_parts.h"

namespace quest::report {
namespace {

using paper::Experiment;
using paper::Run;
using paper::Runs;
using Settings = std::map<std::string, std::string>;

constexpr std::size_t kMostListed = 100;

std::string count_text(std::size_t count) { return grouped(static_cast<long long>(count)); }

std::size_t ended(const Runs& runs) {
  return static_cast<std::size_t>(std::ranges::count_if(runs.runs, paper::has_ended, &Run::status));
}

std::size_t ended_well(const Runs& runs) {
  return static_cast<std::size_t>(std::ranges::count_if(runs.runs, paper::has_ended_well, &Run::status));
}

void check(const Experiment& experiment, const Runs& runs) {
  if (ended(runs) > 0) return;
  std::string text = "expected at least one run of the experiment \"" + experiment.name +
                     "\" that has ended, found none among " + count_text(runs.runs.size()) + "; `quest paper " +
                     experiment.name + " --train` trains what is missing";
  if (!runs.problems.empty()) text += "; the first of what was left out: " + runs.problems.front();
  throw std::runtime_error(text);
}

std::string lead(const Experiment& experiment, const Runs& runs) {
  const std::size_t all = runs.runs.size();
  const std::size_t crashed = ended(runs) - ended_well(runs);
  std::string markup = experiment.summary.empty() ? "" : paragraph(experiment.summary, "lead");
  markup += paragraph(count_text(ended(runs)) + " of " + count_text(all) + (all == 1 ? " run has" : " runs have") +
                      " ended" + (crashed == 0 ? "" : ", " + count_text(crashed) + " of them in a crash") + ".");
  if (ended(runs) < all) {
    markup += paragraph(count_text(all - ended(runs)) + " more are still to end; they are listed below.", "notice");
  }
  return markup;
}

bool has_numbers(const paper::Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const auto& row) {
    return std::ranges::any_of(row.cells, [](const auto& cell) { return cell.ours || cell.paper || cell.crashed > 0; });
  });
}

std::string caption_of(const paper::Item& item) {
  return item.label + ": " + item.shows + (item.metric_name.empty() ? "" : "; " + item.metric_name);
}

std::string comparison_card(const paper::Comparison& comparison) {
  const paper::Item& item = *comparison.item;
  base::Table table = paper::table_of(comparison);
  table.caption = caption_of(item);
  return card(table_html(table) + paragraph("State: " + std::string(paper::state_name(item.state)) + " (" +
                                            std::string(paper::state_meaning(item.state)) + ")."));
}

// The tables, and as figures those with runs.
void add_comparisons(Report& report, const Experiment& experiment, const Runs& runs) {
  std::string tables;
  std::vector<Figure> figures;
  for (const paper::Item& item : experiment.items) {
    try {
      const auto comparison = paper::compare(experiment, item, runs.runs);
      if (!has_numbers(comparison)) continue;
      tables += comparison_card(comparison);
      if (auto figure = comparison_figure(comparison)) figures.push_back(*std::move(figure));
    } catch (const std::runtime_error& error) {
      tables += card(paragraph(caption_of(item)) + paragraph(error.what(), "notice"));
    }
  }
  add_section(report, {"paper", "Beside the paper", std::move(tables)});
  add_section(report, {"runs", "Run by run", ""}, std::move(figures));
}

Settings settings_of(const Run& run) {
  Settings settings = run.settings;
  settings.emplace("recipe", run.recipe);
  return settings;
}

Settings shared_settings(const Runs& runs) {
  Settings shared = settings_of(runs.runs.front());
  for (const Run& run : runs.runs) {
    const Settings settings = settings_of(run);
    std::erase_if(shared, [&](const auto& setting) {
      const auto found = settings.find(setting.first);
      return found == settings.end() || found->second != setting.second;
    });
  }
  return shared;
}

std::string recipe_table(const Settings& shared) {
  if (shared.empty()) return "";
  base::Table table{.caption = "What all runs share, as recipe.toml has it", .columns = {"key", "value"}};
  for (const auto& [key, value] : shared) table.add_row({key, value});
  return card(table_html(table));
}

std::filesystem::path common_parent(const Runs& runs) {
  std::filesystem::path common = runs.runs.front().folder.parent_path();
  for (const Run& run : runs.runs) {
    const auto parent = run.folder.parent_path();
    const auto end = std::mismatch(common.begin(), common.end(), parent.begin(), parent.end()).first;
    std::filesystem::path kept;
    for (auto part = common.begin(); part != end; ++part) kept /= *part;
    common = std::move(kept);
  }
  return common;
}

// A packed run shares its folder with others: what it does not share with all runs tells it apart.
std::string name_of(const Run& run, const std::filesystem::path& parent, const Settings& shared) {
  std::string name = parent.empty() ? run.folder.string() : run.folder.lexically_relative(parent).string();
  if (run.series.is_null()) return name;
  std::string separator = ": ";
  for (const auto& [key, value] : run.settings) {
    if (shared.contains(key)) continue;
    name += std::exchange(separator, ", ") + key + " = " + value;
  }
  return name;
}

std::string troubled_runs(const Runs& runs, const Settings& shared) {
  const auto parent = common_parent(runs);
  base::Table table{.caption = "Runs that crashed or have not ended", .columns = {"run", "recipe", "status"}};
  std::size_t left_out = 0;
  for (const Run& run : runs.runs) {
    if (paper::has_ended_well(run.status)) continue;
    if (table.rows.size() == kMostListed) {
      ++left_out;
    } else {
      table.add_row({name_of(run, parent, shared), run.recipe, run.status});
    }
  }
  if (table.rows.empty()) return "";
  return card(table_html(table) + (left_out == 0 ? "" : paragraph(count_text(left_out) + " more are left out.")));
}

std::string problems(const Runs& runs) {
  if (runs.problems.empty()) return "";
  return card(paragraph("Left out of the tables:") + bullet_list(runs.problems));
}

}  // namespace

Report experiment_report(const Experiment& experiment, const Runs& runs, std::vector<Figure> figures_of_domain) {
  check(experiment, runs);
  const Settings shared = shared_settings(runs);
  Report report{.page = {.title = experiment.title, .lead = lead(experiment, runs), .footer = kPageHelp}};
  add_comparisons(report, experiment, runs);
  add_section(report, {"figures", "Figures", ""}, std::move(figures_of_domain));
  add_section(report, {"recipe", "Recipe", recipe_table(shared)});
  add_section(report, {"problems", "What went wrong", troubled_runs(runs, shared) + problems(runs)});
  return report;
}

}  // namespace quest::report
