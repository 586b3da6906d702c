#include "cli/time_series_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "terminal/table.h"
#include "paper/paper.h"

namespace quest::cli {
namespace {

using timeseries::TimeSeriesComparison;
using timeseries::TimeSeriesSummary;
using timeseries::TimeSeriesTable;

constexpr const char* kNone = "-";

std::string percent_text(double percent) { return terminal::fixed(percent, 2); }

std::string paper_text(const std::optional<double>& percent) { return percent ? percent_text(*percent) : kNone; }

std::string spread_text(const TimeSeriesSummary& summary) {
  const std::string mean = percent_text(summary.mean);
  return summary.accuracies.size() > 1 ? mean + " ± " + percent_text(summary.deviation) : mean;
}

std::string ours_text(const TimeSeriesSummary* summary) {
  return summary == nullptr ? kNone : spread_text(*summary) + " (" + std::to_string(summary->accuracies.size()) + ")";
}

std::string title_of(const TimeSeriesTable& table) {
  const auto items = paper::paper_items();
  const auto item = std::ranges::find(items, table.label, &paper::PaperItem::label);
  return std::string(table.label) + ": " + std::string(item->shows);
}

std::string table_text(const TimeSeriesTable& table, std::span<const TimeSeriesSummary> summaries) {
  std::vector<terminal::Table::Column> columns = {{"data set", terminal::Align::left}, {"protocol", terminal::Align::left}};
  for (const auto& column : table.columns) {
    columns.push_back({std::string(column.title)});
    columns.push_back({"paper"});
  }
  terminal::Table text(columns);
  const auto comparison = timeseries::compare(table, summaries);
  for (const auto& row : comparison.rows) {
    std::vector<std::string> cells = {row.data_set, row.protocol.empty() ? kNone : row.protocol};
    for (const auto& cell : row.cells) {
      cells.push_back(ours_text(cell.ours));
      cells.push_back(paper_text(cell.paper));
    }
    text.add_row(std::move(cells));
  }
  if (!comparison.means.empty()) text.add_rule();
  for (const auto& mean : comparison.means) {
    std::vector<std::string> cells = {"mean of " + std::to_string(mean.data_sets), mean.protocol};
    for (std::size_t i = 0; i < mean.ours.size(); ++i) {
      cells.push_back(percent_text(mean.ours[i]));
      cells.push_back(percent_text(mean.paper[i]));
    }
    text.add_row(std::move(cells));
  }
  return title_of(table) + "\n\n" + text.render(terminal::TableStyle::text);
}

}  // namespace

std::string time_series_results_table(std::span<const TimeSeriesSummary> summaries) {
  terminal::Table table({{"data set", terminal::Align::left},
               {"protocol", terminal::Align::left},
               {"head", terminal::Align::left},
               {"formulation", terminal::Align::left},
               {"accuracy"},
               {"best"},
               {"seeds"},
               {"paper"}});
  for (const auto& summary : summaries) {
    const auto& setting = summary.setting;
    table.add_row({setting.data_set, setting.protocol, setting.head, setting.formulation, spread_text(summary),
                   percent_text(summary.best), std::to_string(summary.accuracies.size()),
                   paper_text(timeseries::paper_accuracy(setting.data_set, setting.head, setting.formulation))});
  }
  return table.render(terminal::TableStyle::text);
}

std::string time_series_paper_tables(std::span<const TimeSeriesSummary> summaries) {
  std::string text;
  for (const auto& table : timeseries::time_series_tables()) {
    if (!text.empty()) text += "\n";
    text += table_text(table, summaries);
  }
  return text +
         "\nOurs: mean ± deviation of the test accuracy in percent (seeds). Protocol paper: its best epoch, as the "
         "paper "
         "has it;\nholdout: the epoch that training cases held back choose. Means are over the data sets that have "
         "every "
         "column.\n";
}

std::string time_series_headline(std::string_view label, std::span<const TimeSeriesSummary> summaries) {
  const auto tables = timeseries::time_series_tables();
  const auto table = std::ranges::find(tables, label, &TimeSeriesTable::label);
  if (table == tables.end()) return "";
  const auto comparison = timeseries::compare(*table, summaries);
  if (comparison.means.empty()) return "";
  const auto& mean = comparison.means.front();
  const auto pair_of = [&](const std::vector<double>& values) {
    std::string text;
    for (const auto* formulation : {"quest", "standard"}) {
      const auto column = std::ranges::find_if(
          table->columns, [&](const auto& one) { return one.formulation == formulation && one.head == "class_token"; });
      if (!text.empty()) text += " / ";
      text += column == table->columns.end() ? kNone : percent_text(values[column - table->columns.begin()]);
    }
    return text;
  };
  return pair_of(mean.ours) + " on " + std::to_string(mean.data_sets) + " of 10 sets; there the paper has " +
         pair_of(mean.paper);
}

std::string time_series_json(std::span<const TimeSeriesSummary> summaries) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& summary : summaries) {
    const auto& setting = summary.setting;
    const auto paper = timeseries::paper_accuracy(setting.data_set, setting.head, setting.formulation);
    list.push_back({{"data_set", setting.data_set},
                    {"protocol", setting.protocol},
                    {"head", setting.head},
                    {"formulation", setting.formulation},
                    {"mean", summary.mean},
                    {"deviation", summary.deviation},
                    {"best", summary.best},
                    {"accuracies", summary.accuracies},
                    {"paper", paper ? nlohmann::ordered_json(*paper) : nlohmann::ordered_json()}});
  }
  return nlohmann::ordered_json({{"results", list}}).dump(2) + "\n";
}

}  // namespace quest::cli
