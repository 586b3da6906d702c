#include "report/training_figures.h"

#include <algorithm>
#include <functional>
#include <set>

#include "report/charts/line_chart.h"
#include "report/charts/markup.h"
#include "report/charts/step_axis.h"
#include "report/charts/table.h"

namespace quest::report {
namespace {

using train::LayerRecord;
using train::StepReport;

constexpr std::size_t kMostPoints = 100;
constexpr std::size_t kHeadsOfACrash = 3;

// A named line of values of each run.
struct Curve {
  std::string title;
  std::string y_title;
  std::function<std::vector<StepValue>(const TrainingRun&)> values;
  bool from_zero = false;  // also where it ends close to 0, as a schedule does
};

std::vector<StepValue> step_values(const std::vector<StepReport>& steps, double StepReport::* figure) {
  std::vector<StepValue> values;
  values.reserve(steps.size());
  for (const StepReport& step : steps) values.push_back({step.step, step.*figure});
  return values;
}

std::vector<StepValue> metric_values(const TrainingRun& run, const std::string& metric) {
  std::vector<StepValue> values;
  for (const Evaluation& evaluation : run.evaluations) {
    const auto found = evaluation.metrics.find(metric);
    if (found != evaluation.metrics.end()) values.push_back({evaluation.step, found->second});
  }
  return values;
}

StepAxis axis_of(std::span<const std::vector<StepValue>> lines, std::size_t most) {
  std::vector<std::vector<std::int64_t>> steps;
  for (const auto& line : lines) {
    auto& of_line = steps.emplace_back();
    for (const StepValue& value : line) of_line.push_back(value.step);
  }
  return {steps, most};
}

LineChart chart_of(const Curve& curve, std::span<const NamedRun> runs) {
  std::vector<std::vector<StepValue>> lines;
  for (const NamedRun& run : runs) lines.push_back(curve.values(*run.run));
  const StepAxis axis = axis_of(lines, kMostPoints);
  LineChart chart{.title = curve.title,
                  .x_title = "step",
                  .y_title = curve.y_title,
                  .empty_note = "nothing finite was logged",
                  .steps = axis.steps()};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    chart.series.push_back({runs[i].name, static_cast<int>(i), axis.points(lines[i])});
  }
  if (curve.from_zero) {
    chart.y = range_from_zero(chart.series);
  } else {
    fit_y(chart);
  }
  return chart;
}

void add_rows(base::Table& table, const LineChart& chart) {
  for (std::size_t i = 0; i < chart.steps.size(); ++i) {
    std::vector<base::Cell> row = {chart.title, {number(chart.steps[i]), chart.steps[i]}};
    for (const Series& series : chart.series) {
      const base::Quartiles* point = series.at(i);
      row.push_back(point == nullptr ? base::Cell("–") : number_cell(point->middle));
    }
    table.add_row(std::move(row));
  }
}

Figure figure_of(Figure figure, std::span<const Curve> curves, std::span<const NamedRun> runs) {
  figure.values = {.caption = figure.title, .columns = {"curve", "step"}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs.size() > 1) figure.legend.push_back({runs[i].name, static_cast<int>(i)});
    figure.values.columns.emplace_back(runs[i].name);
  }
  for (const Curve& curve : curves) {
    const LineChart chart = chart_of(curve, runs);
    figure.panels.push_back(line_chart(chart));
    add_rows(figure.values, chart);
  }
  return figure;
}

std::string head_name(const LayerRecord& record, std::size_t head) {
  return record.layer + " head " + std::to_string(head);
}

// The heads whose largest logit of these steps is the largest, and how it went.
LineChart largest_logits(const TrainingRun& run, std::int64_t first_step) {
  std::map<std::string, std::vector<StepValue>> heads;
  for (const LayerRecord& record : run.layers) {
    if (record.step < first_step) continue;
    for (std::size_t head = 0; head < record.heads(); ++head) {
      heads[head_name(record, head)].push_back({record.step, record.max_logit[head]});
    }
  }
  const auto most = [](const auto& head) { return std::ranges::max(head.second, {}, &StepValue::value).value; };
  std::vector<std::pair<std::string, std::vector<StepValue>>> order(heads.begin(), heads.end());
  std::ranges::stable_sort(order, std::ranges::greater(), most);
  order.resize(std::min(order.size(), kHeadsOfACrash));

  std::vector<std::vector<StepValue>> lines;
  lines.reserve(order.size());
  for (const auto& [name, values] : order) lines.push_back(values);
  const StepAxis axis = axis_of(lines, train::ExplosionOptions{}.within_steps);
  LineChart chart{.title = "largest logits",
                  .x_title = "step",
                  .y_title = "max logit",
                  .empty_note = "attention was not watched",
                  .steps = axis.steps()};
  for (std::size_t i = 0; i < order.size(); ++i) {
    chart.series.push_back({order[i].first, static_cast<int>(i), axis.points(order[i].second)});
  }
  fit_y(chart);
  return chart;
}

}  // namespace

std::vector<Figure> curve_figures(std::span<const NamedRun> runs) {
  const auto of_steps = [](double StepReport::* figure) {
    return [figure](const TrainingRun& run) { return step_values(run.steps, figure); };
  };
  const std::vector<Curve> training = {{"training loss", "loss", of_steps(&StepReport::loss)},
                                       {"learning rate", "rate", of_steps(&StepReport::lr), true},
                                       {"gradient norm", "norm", of_steps(&StepReport::grad_norm)},
                                       {"throughput", "samples per second", of_steps(&StepReport::samples_per_second)}};
  std::set<std::string> metrics;
  for (const NamedRun& run : runs) {
    for (const Evaluation& evaluation : run.run->evaluations) {
      for (const auto& [name, value] : evaluation.metrics) metrics.insert(name);
    }
  }
  std::vector<Curve> evaluation;
  evaluation.reserve(metrics.size());
  for (const std::string& name : metrics) {
    evaluation.push_back({name, name, [name](const TrainingRun& run) { return metric_values(run, name); }});
  }
  std::vector<Figure> figures = {
      figure_of({.id = "training",
                 .title = "Training",
                 .caption = "The gradient norm is that before clipping. Where the log has more steps than the figure "
                            "has room for: medians of neighbouring steps, and the band between the quartiles."},
                training, runs)};
  if (!evaluation.empty()) {
    figures.push_back(figure_of(
        {.id = "evaluation", .title = "Evaluation", .caption = "On data that is not trained on."}, evaluation, runs));
  }
  return figures;
}

Figure crash_figure(const NamedRun& run, const Crash& crash, const std::string& prefix) {
  const std::int64_t first = crash.steps.empty() ? crash.iteration : crash.steps.front().step;
  const auto of_crash = [&crash](double StepReport::* figure) {
    return [&crash, figure](const TrainingRun&) { return step_values(crash.steps, figure); };
  };
  const std::vector<Curve> curves = {{"training loss", "loss", of_crash(&StepReport::loss)},
                                     {"gradient norm", "norm", of_crash(&StepReport::grad_norm)}};
  Figure figure = figure_of({.id = prefix + "crash",
                             .title = "The last steps before the crash",
                             .caption = "A line ends where its values are no longer finite. The legend names the heads "
                                        "with the largest logits; loss and gradient norm have one line."},
                            curves, std::vector{run});
  const LineChart logits = largest_logits(*run.run, first);
  for (const Series& series : logits.series) {
    figure.legend.push_back({series.name, series.color});
    for (std::size_t i = 0; i < logits.steps.size(); ++i) {
      if (const base::Quartiles* point = series.at(i)) {
        figure.values.add_row({series.name, {number(logits.steps[i]), logits.steps[i]}, number_cell(point->middle)});
      }
    }
  }
  figure.panels.push_back(line_chart(logits));
  return figure;
}

}  // namespace quest::report
