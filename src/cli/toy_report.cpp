#include "cli/toy_report.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "terminal/heat_map.h"
#include "terminal/table.h"
#include "domains/toy/toy_folder.h"

namespace quest::cli {
namespace {

using toy::kOutcomes;
using toy::ToySettings;
using toy::ToySummary;

constexpr std::size_t kTextWidth = 120;

std::string percent(double fraction) { return terminal::fixed(100.0 * fraction, 0) + " %"; }

std::string paper_text(const std::string& formulation) {
  const auto rate = toy::paper_success_rate(formulation);
  if (!rate) return "-";
  return (*rate == 0.0 ? "about " : "") + percent(*rate);
}

std::vector<std::string> texts_of(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) {
    std::ostringstream text;
    text << value;
    texts.push_back(text.str());
  }
  return texts;
}

}  // namespace

std::string toy_heat_maps(const ToySettings& settings, std::span<const ToySummary> summaries,
                          const terminal::TerminalStyle& style) {
  std::vector<terminal::HeatMap> maps;
  for (const ToySummary& summary : summaries) maps.push_back({summary.formulation, summary.success});
  const terminal::HeatMapAxes axes{.row_title = "learning rate",
                         .rows = texts_of(settings.learning_rates),
                         .column_title = "weight decay",
                         .columns = texts_of(settings.weight_decays)};
  return terminal::heat_maps(maps, axes, kTextWidth, style);
}

std::string toy_outcome_table(std::span<const ToySummary> summaries) {
  std::vector<terminal::Table::Column> columns = {{"formulation", terminal::Align::left}, {"trainings"}};
  for (const auto outcome : kOutcomes) columns.push_back({std::string(toy::outcome_name(outcome))});
  columns.push_back({"success"});
  columns.push_back({"paper"});
  terminal::Table table(columns);
  for (const ToySummary& summary : summaries) {
    std::vector<std::string> cells = {summary.formulation, std::to_string(summary.trainings)};
    for (const int count : summary.outcomes) cells.push_back(std::to_string(count));
    cells.push_back(percent(summary.success_rate()));
    cells.push_back(paper_text(summary.formulation));
    table.add_row(std::move(cells));
  }
  return table.render(terminal::TableStyle::text);
}

std::string toy_json(const ToySettings& settings, std::span<const ToySummary> summaries) {
  nlohmann::ordered_json result = {{"settings", toy::to_json(settings)}};
  auto& formulations = result["formulations"] = nlohmann::ordered_json::array();
  for (const ToySummary& summary : summaries) {
    nlohmann::ordered_json entry = {{"formulation", summary.formulation}, {"trainings", summary.trainings}};
    for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
      entry[std::string(toy::outcome_name(kOutcomes[i]))] = summary.outcomes[i];
    }
    entry["success_rate"] = summary.success_rate();
    if (const auto rate = toy::paper_success_rate(summary.formulation)) entry["paper_success_rate"] = *rate;
    auto& rows = entry["success"] = nlohmann::ordered_json::array();
    for (const auto& row : summary.success) {
      auto cells = nlohmann::ordered_json::array();
      for (const auto& value : row) cells.push_back(value ? nlohmann::ordered_json(*value) : nullptr);
      rows.push_back(std::move(cells));
    }
    formulations.push_back(std::move(entry));
  }
  return result.dump(2) + "\n";
}

}  // namespace quest::cli
