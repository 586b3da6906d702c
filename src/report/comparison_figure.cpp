#include "report/comparison_figure.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "report/charts/dot_chart.h"
#include "report/charts/table.h"

namespace quest::report {
namespace {

// "Table A7" -> "table-a7"
std::string anchor_of(const std::string& label) {
  std::string id;
  for (const char c : label) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      id += static_cast<char>(std::tolower(letter));
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  return id;
}

// What a panel compares.
struct Group {
  const paper::Comparison::Row* row = nullptr;
  std::size_t column = 0;
};

struct PanelPlan {
  std::string title;
  std::vector<Group> groups;
};

bool has_metrics_by_column(const paper::Item& item) {
  return std::ranges::any_of(item.columns, [](const paper::Line& column) { return !column.metric.empty(); });
}

// Values of one metric share an axis.
std::vector<PanelPlan> planned_panels(const paper::Comparison& comparison) {
  const bool by_column = has_metrics_by_column(*comparison.item);
  std::vector<PanelPlan> panels;
  for (const auto& row : comparison.rows) {
    for (std::size_t column = 0; column < row.cells.size(); ++column) {
      const auto& ours = row.cells[column].ours;
      if (!ours || ours->values.empty()) continue;
      const std::string title =
          (by_column ? comparison.columns[column] : row.title) + (row.split.empty() ? "" : ", " + row.split);
      auto panel = std::ranges::find(panels, title, &PanelPlan::title);
      if (panel == panels.end()) panel = panels.insert(panels.end(), {title, {}});
      panel->groups.push_back({&row, column});
    }
  }
  return panels;
}

DotGroup dots_of(const paper::Comparison& comparison, const Group& group) {
  const paper::ComparedCell& cell = group.row->cells[group.column];
  const bool by_column = has_metrics_by_column(*comparison.item);
  return {.name = by_column ? group.row->title : comparison.columns[group.column],
          .values = cell.ours->values,
          .mean = cell.ours->mean,
          .deviation = cell.ours->deviation,
          .reference = cell.paper ? cell.paper->value : std::nullopt,
          .note = cell.crashed == 0 ? "" : std::to_string(cell.crashed) + " crashed"};
}

void add_values(Figure& figure, const paper::Comparison& comparison, const Group& group) {
  const auto& values = group.row->cells[group.column].ours->values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<base::Cell> cells = {group.row->title};
    if (!comparison.split.empty()) cells.emplace_back(group.row->split);
    cells.emplace_back(comparison.columns[group.column]);
    cells.push_back(count_cell(static_cast<std::int64_t>(i + 1)));
    cells.push_back(number_cell(values[i]));
    figure.values.add_row(std::move(cells));
  }
}

Figure without_panels(const paper::Comparison& comparison) {
  const paper::Item& item = *comparison.item;
  Figure figure{.id = anchor_of(item.label),
                .title = item.label + ": " + item.shows,
                .caption = "Every run, the mean and deviation of those of a kind, and the paper's number.",
                .legend = {{"a run; mean and deviation", kDotColor}, {"the paper", kReferenceColor}},
                .values = {.caption = item.label + ", run by run", .columns = {"row"}}};
  if (!comparison.split.empty()) figure.values.columns.emplace_back(comparison.split);
  for (const char* title : {"column", "run"}) figure.values.columns.emplace_back(title);
  figure.values.columns.emplace_back(item.metric_name.empty() ? "value" : item.metric_name);
  return figure;
}

}  // namespace

std::optional<Figure> comparison_figure(const paper::Comparison& comparison) {
  const auto panels = planned_panels(comparison);
  if (panels.empty()) return std::nullopt;
  Figure figure = without_panels(comparison);
  for (const auto& [title, groups] : panels) {
    DotChart chart{.title = title, .y_title = comparison.item->metric_name, .reference_name = "the paper"};
    for (const Group& group : groups) {
      chart.groups.push_back(dots_of(comparison, group));
      add_values(figure, comparison, group);
    }
    figure.panels.push_back(dot_chart(chart));
  }
  return figure;
}

}  // namespace quest::report
