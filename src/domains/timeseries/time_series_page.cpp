#include "domains/timeseries/time_series_page.h"

#include <algorithm>
#include <stdexcept>

#include "paper/paper.h"
#include "report/charts/dot_chart.h"
#include "report/charts/markup.h"
#include "report/page/page_parts.h"
#include "report/charts/table.h"

namespace quest::timeseries {
namespace {

using Summaries = std::span<const TimeSeriesSummary>;

report::Cell percent_cell(double percent) { return {report::fixed(percent), percent}; }

report::Cell paper_cell(const std::optional<double>& percent) { return percent ? percent_cell(*percent) : report::Cell("–"); }

std::string spread_text(const TimeSeriesSummary& summary) {
  return report::fixed(summary.mean) + " ± " + report::fixed(summary.deviation);
}

report::Cell ours_cell(const TimeSeriesSummary* summary) {
  return summary == nullptr ? report::Cell("–") : report::Cell(spread_text(*summary), summary->mean);
}

report::Cell count_cell(std::size_t count) { return {std::to_string(count), static_cast<double>(count)}; }

std::string paper_table(const TimeSeriesTable& paper, Summaries summaries) {
  const auto items = paper::paper_items();
  const auto item = std::ranges::find(items, paper.label, &paper::PaperItem::label);
  report::Table table{.caption = std::string(paper.label) + " of the paper, and ours: " + std::string(item->shows),
              .columns = {"data set", "protocol"},
              .rows = {}};
  for (const auto& column : paper.columns) {
    table.columns.emplace_back(column.title);
    table.columns.push_back("paper: " + std::string(column.title));
  }
  const auto comparison = compare(paper, summaries);
  for (const auto& row : comparison.rows) {
    std::vector<report::Cell> cells = {row.data_set, row.protocol.empty() ? "–" : row.protocol};
    for (const auto& cell : row.cells) {
      cells.push_back(ours_cell(cell.ours));
      cells.push_back(paper_cell(cell.paper));
    }
    table.rows.push_back(std::move(cells));
  }
  for (const auto& mean : comparison.means) {
    std::vector<report::Cell> cells = {"mean of " + std::to_string(mean.data_sets), mean.protocol};
    for (std::size_t i = 0; i < mean.ours.size(); ++i) {
      cells.push_back(percent_cell(mean.ours[i]));
      cells.push_back(percent_cell(mean.paper[i]));
    }
    table.rows.push_back(std::move(cells));
  }
  return report::card(report::table_html(table));
}

std::string results_table(Summaries summaries) {
  report::Table table{.caption = "Every kind of training",
              .columns = {"data set", "protocol", "head", "formulation", "mean ± deviation", "best", "seeds", "paper"},
              .rows = {}};
  for (const auto& summary : summaries) {
    const auto& setting = summary.setting;
    table.rows.push_back(
        {setting.data_set, setting.protocol, setting.head, setting.formulation, ours_cell(&summary),
         percent_cell(summary.best), count_cell(summary.accuracies.size()),
         paper_cell(paper_accuracy(setting.data_set, setting.head, setting.formulation))});
  }
  return report::card(report::table_html(table));
}

std::vector<std::vector<TimeSeriesSummary>> grouped_by(Summaries summaries, auto key) {
  std::vector<std::vector<TimeSeriesSummary>> groups;
  for (const auto& summary : summaries) {
    const bool is_new = groups.empty() || key(groups.back().front().setting) != key(summary.setting);
    if (is_new) groups.emplace_back();
    groups.back().push_back(summary);
  }
  return groups;
}

report::DotGroup dots_of(const TimeSeriesSummary& summary) {
  const auto& setting = summary.setting;
  return {.name = setting.formulation,
          .values = summary.accuracies,
          .mean = summary.mean,
          .deviation = summary.deviation,
          .reference = paper_accuracy(setting.data_set, setting.head, setting.formulation)};
}

report::Figure data_set_figure(Summaries summaries) {
  const std::string& data_set = summaries.front().setting.data_set;
  report::Figure figure{
      .id = "accuracy-" + data_set,
      .title = data_set,
      .caption = "Test accuracy of every seed, their mean and deviation, and the paper's single number.",
      .legend = {{"a seed; mean and deviation", report::kDotColor}, {"the paper", report::kReferenceColor}},
      .values = {data_set + ", seed by seed", {"formulation", "protocol", "head", "training", "accuracy"}, {}}};
  const auto kind = [](const TimeSeriesSetting& setting) { return setting.protocol + ", " + setting.head; };
  for (const auto& group : grouped_by(summaries, kind)) {
    report::DotChart chart{.title = "protocol " + kind(group.front().setting),
                   .y_title = "accuracy, %",
                   .reference_name = "the paper",
                   .groups = {}};
    for (const auto& summary : group) {
      chart.groups.push_back(dots_of(summary));
      const auto& setting = summary.setting;
      for (std::size_t i = 0; i < summary.accuracies.size(); ++i) {
        figure.values.rows.push_back({setting.formulation, setting.protocol, setting.head, count_cell(i + 1),
                                      percent_cell(summary.accuracies[i])});
      }
    }
    figure.panels.push_back(report::dot_chart(chart));
  }
  return figure;
}

std::string lead(std::span<const TimeSeriesTraining> trainings, Summaries summaries) {
  std::size_t ended = 0;
  for (const auto& summary : summaries) ended += summary.accuracies.size();
  std::string markup = report::paragraph(report::grouped(static_cast<long long>(ended)) +
                                     " trainings of the paper's small transformer on data sets of the UEA archive; "
                                     "accuracies are those of the test "
                                     "split, in percent.",
                                 "lead");
  markup += report::paragraph(
      "Protocol “paper” does as the reference code: it reports the best epoch on the test split itself, which flatters "
      "every formulation. Protocol “holdout” chooses the epoch by training cases held back, and reports the test "
      "accuracy of that epoch. The paper gives one number each; ours are means over seeds, with the deviation of a "
      "single training.");
  if (ended < trainings.size()) {
    markup += report::paragraph(report::grouped(static_cast<long long>(trainings.size() - ended)) +
                            " more trainings have not ended well and are not counted.",
                        "notice");
  }
  return markup;
}

std::string recipe_table(const TimeSeriesTraining& training) {
  report::Table table{
      .caption = "What all trainings share, as their recipe.toml have it", .columns = {"key", "value"}, .rows = {}};
  for (const auto& [key, value] : training.recipe) table.rows.push_back({key, value});
  return report::card(report::table_html(table));
}

}  // namespace

report::Report time_series_report(std::span<const TimeSeriesTraining> trainings) {
  const auto summaries = summarize(trainings);
  if (summaries.empty()) {
    throw std::runtime_error("expected at least one training of the time-series experiment that has ended, found none");
  }
  report::Report report{
      .page = {.title = "Time series", .lead = lead(trainings, summaries), .sections = {}, .footer = report::kPageHelp}};
  std::string tables;
  for (const auto& table : time_series_tables()) tables += paper_table(table, summaries);
  report.page.sections.push_back({"paper", "Beside the paper", std::move(tables)});
  for (const auto& group : grouped_by(summaries, [](const auto& setting) { return setting.data_set; })) {
    report.figures.push_back(data_set_figure(group));
  }
  report.page.sections.push_back({"data-sets", "Data set by data set", report::all_html(report.figures)});
  report.page.sections.push_back({"results", "Results", results_table(summaries)});
  report.page.sections.push_back({"recipe", "Recipe", recipe_table(trainings.front())});
  return report;
}

}  // namespace quest::timeseries
