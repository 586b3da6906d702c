#include "domains/toy/outcome_figures.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/quartiles.h"
#include "report/charts/heat_map.h"
#include "report/charts/histogram.h"
#include "report/charts/markup.h"

namespace quest::toy {
namespace {

using Cells = std::vector<std::vector<std::optional<double>>>;

constexpr int kBins = 20;
constexpr int kShortDecimals = 6;  // enough for a learning rate

double share_of(Outcome outcome, std::span<const Finding> findings) {
  const auto count = std::ranges::count(findings, outcome, &Finding::outcome);
  return static_cast<double>(count) / static_cast<double>(findings.size());
}

using ByRealization = std::map<double, std::vector<Finding>>;

ByRealization by_realization(const Kind& kind) {
  ByRealization findings;
  for (const Finding& finding : kind.findings) findings[finding.realization].push_back(finding);
  return findings;
}

std::string outcome_caption() {
  std::string text = "Percent of the trainings on each data set.";
  for (const Outcome outcome : kOutcomes) {
    text.append(" ").append(outcome_name(outcome)).append(": ").append(outcome_meaning(outcome)).append(".");
  }
  return text + " Success is the share of correct ones.";
}

std::string with_success(const Kind& kind) { return kind.name + ", " + report::percent(success_rate(kind.findings)); }

report::Panel outcome_panel(const Kind& kind) {
  report::HeatMap map{.title = with_success(kind), .row_title = "data set", .column_title = "outcome"};
  for (const Outcome outcome : kOutcomes) map.columns.emplace_back(outcome_name(outcome));
  for (const auto& [realization, findings] : by_realization(kind)) {
    map.rows.push_back(report::number(realization));
    auto& cells = map.cells.emplace_back();
    for (const Outcome outcome : kOutcomes) cells.emplace_back(share_of(outcome, findings));
  }
  return report::heat_map(map);
}

base::Cell count_cell(std::ptrdiff_t count) { return {report::grouped(count), static_cast<double>(count)}; }

// The success rates of the data sets differ: a spread that trainings on one data set would hide.
base::Cell spread_cell(const Kind& kind) {
  std::vector<double> rates;
  for (const auto& [realization, findings] : by_realization(kind)) rates.push_back(success_rate(findings));
  const auto [least, most] = std::ranges::minmax(rates);
  return {report::number(100.0 * least, 0) + " to " + report::percent(most), least};
}

std::vector<base::Cell> outcome_row(const Kind& kind) {
  const double success = success_rate(kind.findings);
  std::vector<base::Cell> row = {kind.name, {report::percent(success), success}, spread_cell(kind)};
  for (const Outcome outcome : kOutcomes) {
    row.push_back(count_cell(std::ranges::count(kind.findings, outcome, &Finding::outcome)));
  }
  row.push_back(count_cell(std::ssize(kind.findings)));
  return row;
}

// Learning rates, or weight decays, from the least.
struct GridAxis {
  std::vector<double> values;

  GridAxis(std::span<const Kind> kinds, double Finding::* member) {
    std::set<double> different;
    for (const Kind& kind : kinds) {
      for (const Finding& finding : kind.findings) different.insert(finding.*member);
    }
    values.assign(different.begin(), different.end());
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const double value : values) names.push_back(report::number(value, kShortDecimals));
    return names;
  }
};

Cells success_cells(const Kind& kind, const GridAxis& rows, const GridAxis& columns) {
  std::map<std::pair<double, double>, std::vector<Finding>> by_cell;
  for (const Finding& finding : kind.findings)
    by_cell[{finding.learning_rate, finding.weight_decay}].push_back(finding);
  Cells cells(rows.values.size(), std::vector<std::optional<double>>(columns.values.size()));
  for (std::size_t r = 0; r < rows.values.size(); ++r) {
    for (std::size_t c = 0; c < columns.values.size(); ++c) {
      const auto found = by_cell.find({rows.values[r], columns.values[c]});
      if (found != by_cell.end()) cells[r][c] = success_rate(found->second);
    }
  }
  return cells;
}

report::Figure accuracy_figure(std::span<const Kind> kinds, const std::string& which, double Finding::* accuracy) {
  report::Figure figure{.id = which + "-accuracy",
                        .title = "Distribution of " + which + " accuracy",
                        .caption = "Of the final weights of every training, in bins of 5 %. Chance is 10 %."};
  figure.values = {figure.title, {"accuracy"}, {}};
  for (int bin = 0; bin < kBins; ++bin) {
    figure.values.rows.push_back({{report::bin_name(bin, kBins), static_cast<double>(bin)}});
  }
  std::vector<std::vector<int>> counts;
  int most = 1;
  for (const Kind& kind : kinds) {
    std::vector<double> values;
    for (const Finding& finding : kind.findings) values.push_back(finding.*accuracy);
    counts.push_back(base::bin_counts(values, kBins));
    most = std::max(most, std::ranges::max(counts.back()));
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    figure.panels.push_back(report::histogram({.title = kinds[i].name,
                                               .x_title = which + " accuracy, %",
                                               .y_title = "trainings",
                                               .counts = counts[i],
                                               .most = most}));
    figure.values.columns.emplace_back(kinds[i].name);
    for (int bin = 0; bin < kBins; ++bin) {
      figure.values.rows[bin].emplace_back(report::grouped(counts[i][bin]), static_cast<double>(counts[i][bin]));
    }
  }
  return figure;
}

}  // namespace

report::Figure outcome_figure(std::span<const Kind> kinds) {
  report::Figure figure{.id = "outcomes", .title = "What became of the trainings", .caption = outcome_caption()};
  figure.values = {figure.title, {"formulation", "success", "by data set"}, {}};
  for (const Outcome outcome : kOutcomes) figure.values.columns.emplace_back(std::string(outcome_name(outcome)));
  figure.values.columns.emplace_back("trainings");
  for (const Kind& kind : kinds) {
    figure.panels.push_back(outcome_panel(kind));
    figure.values.add_row(outcome_row(kind));
  }
  return figure;
}

report::Figure success_figure(std::span<const Kind> kinds) {
  report::Figure figure{.id = "success",
                        .title = "Success rate over learning rate and weight decay",
                        .caption = "Percent of trainings whose final train and test accuracy are both above 90 %."};
  figure.values = {figure.title, {"formulation", "learning rate", "weight decay", "success"}, {}};
  const GridAxis rates(kinds, &Finding::learning_rate);
  const GridAxis decays(kinds, &Finding::weight_decay);
  const auto rows = rates.names();
  const auto columns = decays.names();
  for (const Kind& kind : kinds) {
    const auto cells = success_cells(kind, rates, decays);
    figure.panels.push_back(report::heat_map({.title = with_success(kind),
                                              .row_title = "learning rate",
                                              .rows = rows,
                                              .column_title = "weight decay",
                                              .columns = columns,
                                              .cells = cells}));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto& value = cells[r][c];
        figure.values.add_row({kind.name,
                               {rows[r], rates.values[r]},
                               {columns[c], decays.values[c]},
                               value ? base::Cell(report::percent(*value), *value) : base::Cell("–")});
      }
    }
  }
  return figure;
}

report::Figure train_accuracy_figure(std::span<const Kind> kinds) {
  return accuracy_figure(kinds, "train", &Finding::train_accuracy);
}

report::Figure test_accuracy_figure(std::span<const Kind> kinds) {
  return accuracy_figure(kinds, "test", &Finding::test_accuracy);
}

}  // namespace quest::toy
