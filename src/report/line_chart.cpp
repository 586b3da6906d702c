#include "report/line_chart.h"

#include <algorithm>
#include <utility>

#include "report/markup.h"
#include "report/plot_frame.h"

namespace quest::report {
namespace {

std::size_t steps_of(const LineChart& chart) {
  std::size_t steps = 0;
  for (const Series& series : chart.series) steps = std::max(steps, series.points.size());
  return steps;
}

bool is_empty(const LineChart& chart) {
  return std::ranges::all_of(chart.series, [](const Series& series) {
    return std::ranges::none_of(series.points, [](const auto& point) { return point.has_value(); });
  });
}

std::string coordinates(double x, double y) { return number(x) + " " + number(y); }

// One stretch of neighbouring points.
std::string stretch(const PlotFrame& frame, const Series& series, std::size_t first, std::size_t end) {
  std::string middle;
  std::string upper;
  std::string lower;
  for (std::size_t i = first; i < end; ++i) {
    const double x = frame.x()(static_cast<double>(i + 1));
    const Quartiles& point = *series.at(i);
    const std::string separator = i == first ? "" : "L";
    middle += separator + coordinates(x, frame.y()(point.middle));
    upper += separator + coordinates(x, frame.y()(point.high));
    lower = "L" + coordinates(x, frame.y()(point.low)) + lower;
  }
  return element("path", {{"class", "band"}, {"d", "M" + upper + lower + "Z"}}) +
         element("path", {{"class", "line"}, {"d", "M" + middle}});
}

std::string series_drawing(const PlotFrame& frame, const Series& series) {
  std::string drawing;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const std::size_t first = i;
    while (series.at(i) != nullptr) ++i;
    if (i > first) drawing += stretch(frame, series, first, i);
  }
  return element("g", {{"class", "series" + std::to_string(series.color)}}, drawing) + "\n";
}

std::string step_label(const LineChart& chart, std::size_t step) {
  std::string label = chart.x_title + " " + std::to_string(step + 1);
  for (const Series& series : chart.series) {
    const Quartiles* point = series.at(step);
    label +=
        "\n" + series.name + ": " +
        (point == nullptr ? "–"
                          : number(point->middle) + " (" + number(point->low) + " to " + number(point->high) + ")");
  }
  return label;
}

std::string summary_of(const LineChart& chart) {
  std::string summary;
  for (const Series& series : chart.series) {
    const Quartiles* first = nullptr;
    const Quartiles* last = nullptr;
    for (std::size_t step = 0; step < series.points.size(); ++step) {
      const Quartiles* point = series.at(step);
      if (first == nullptr) first = point;
      if (point != nullptr) last = point;
    }
    if (first == nullptr) continue;
    summary += series.name + " from " + number(first->middle) + " to " + number(last->middle) + ". ";
  }
  return summary.empty() ? chart.empty_note + "." : "Medians: " + summary;
}

}  // namespace

Panel line_chart(const LineChart& chart) {
  const std::size_t steps = steps_of(chart);
  const auto last = static_cast<double>(std::max<std::size_t>(steps, 2));
  const PlotFrame frame(chart.title, {.title = chart.x_title, .range = {1.0, last}},
                        {.title = chart.y_title, .range = chart.y});
  std::string drawing = frame.drawing();
  if (is_empty(chart)) {
    drawing += PlotFrame::note(chart.empty_note);
  } else {
    for (const Series& series : chart.series) drawing += series_drawing(frame, series);
    for (std::size_t step = 0; step < steps; ++step) {
      const auto at = static_cast<double>(step + 1);
      drawing +=
          mark("step", step_label(chart, step),
               PlotFrame::target(std::max(kPlotX.from, frame.x()(at - 0.5)), std::min(kPlotX.to, frame.x()(at + 0.5))));
    }
  }
  return {
      .title = chart.title, .summary = summary_of(chart), .height = PlotFrame::height(), .drawing = std::move(drawing)};
}

Range range_from_zero(const std::vector<Series>& series) {
  double most = 0.0;
  for (const Series& one : series) {
    for (const auto& point : one.points) most = point ? std::max(most, point->high) : most;
  }
  return most == 0.0 ? Range{0.0, 1.0} : rounded({0.0, most}, 5);
}

}  // namespace quest::report
