#include "report/charts/line_chart.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "report/charts/markup.h"
#include "report/charts/plot_frame.h"

namespace quest::report {
namespace {

constexpr int kTicks = 5;

std::size_t steps_of(const LineChart& chart) {
  std::size_t steps = 0;
  for (const Series& series : chart.series) steps = std::max(steps, series.points.size());
  return steps;
}

double position(const LineChart& chart, std::size_t step) {
  return step < chart.steps.size() ? chart.steps[step] : static_cast<double>(step + 1);
}

bool is_empty(const LineChart& chart) {
  return std::ranges::all_of(chart.series, [](const Series& series) {
    return std::ranges::none_of(series.points, [](const auto& point) { return point.has_value(); });
  });
}

std::string coordinates(double x, double y) { return number(x) + " " + number(y); }

// One stretch of neighbouring points.
std::string stretch(const LineChart& chart, const PlotFrame& frame, const Series& series, std::size_t first,
                    std::size_t end) {
  std::string middle;
  std::string upper;
  std::string lower;
  for (std::size_t i = first; i < end; ++i) {
    const double x = frame.x()(position(chart, i));
    const base::Quartiles& point = *series.at(i);
    const std::string separator = i == first ? "" : "L";
    middle += separator + coordinates(x, frame.y()(point.middle));
    upper += separator + coordinates(x, frame.y()(point.high));
    lower = "L" + coordinates(x, frame.y()(point.low)) + lower;
  }
  return element("path", {{"class", "band"}, {"d", "M" + upper + lower + "Z"}}) +
         element("path", {{"class", "line"}, {"d", "M" + middle}});
}

std::string series_drawing(const LineChart& chart, const PlotFrame& frame, const Series& series) {
  std::string drawing;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const std::size_t first = i;
    while (series.at(i) != nullptr) ++i;
    if (i > first) drawing += stretch(chart, frame, series, first, i);
  }
  return element("g", {{"class", "series" + std::to_string(series.color)}}, drawing) + "\n";
}

std::string step_label(const LineChart& chart, std::size_t step) {
  std::string label = chart.x_title + " " + number(position(chart, step));
  for (const Series& series : chart.series) {
    const base::Quartiles* point = series.at(step);
    label += "\n" + series.name + ": " + (point == nullptr ? "–" : compact(point->middle));
    if (point != nullptr && point->low != point->high) {
      label += " (" + compact(point->low) + " to " + compact(point->high) + ")";
    }
  }
  return label;
}

std::string summary_of(const LineChart& chart) {
  std::string summary;
  for (const Series& series : chart.series) {
    const base::Quartiles* first = nullptr;
    const base::Quartiles* last = nullptr;
    for (std::size_t step = 0; step < series.points.size(); ++step) {
      const base::Quartiles* point = series.at(step);
      if (first == nullptr) first = point;
      if (point != nullptr) last = point;
    }
    if (first == nullptr) continue;
    summary += series.name + " from " + compact(first->middle) + " to " + compact(last->middle) + ". ";
  }
  return summary.empty() ? chart.empty_note + "." : "Medians: " + summary;
}

}  // namespace

Panel line_chart(const LineChart& chart) {
  const std::size_t steps = steps_of(chart);
  const double first = position(chart, 0);
  const double last = std::max(position(chart, std::max<std::size_t>(steps, 1) - 1), first + 1.0);
  const PlotFrame frame(chart.title, {.title = chart.x_title, .range = {first, last}},
                        {.title = chart.y_title, .range = chart.y, .spacing = chart.y_spacing});
  std::string drawing = frame.drawing();
  if (is_empty(chart)) {
    drawing += PlotFrame::note(chart.empty_note);
  } else {
    for (const Series& series : chart.series) drawing += series_drawing(chart, frame, series);
    for (std::size_t step = 0; step < steps; ++step) {
      const double at = position(chart, step);
      const double from = step == 0 ? first : (position(chart, step - 1) + at) / 2.0;
      const double to = step + 1 == steps ? last : (at + position(chart, step + 1)) / 2.0;
      drawing += mark("step", step_label(chart, step), PlotFrame::target(frame.x()(from), frame.x()(to)));
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
  return most == 0.0 ? Range{0.0, 1.0} : rounded({0.0, most}, kTicks);
}

void fit_y(LineChart& chart) {
  constexpr double kFarApart = 100.0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0.0;
  for (const Series& one : chart.series) {
    for (const auto& point : one.points) {
      if (!point) continue;
      least = std::min(least, point->low);
      most = std::max(most, point->high);
    }
  }
  if (least < 0.0) {
    chart.y = rounded({least, most}, kTicks);
  } else if (least == 0.0 || most < kFarApart * least) {
    chart.y = range_from_zero(chart.series);
  } else {
    chart.y = {least * 0.8, most * 1.25};
    chart.y_spacing = Spacing::logarithmic;
  }
}

}  // namespace quest::report
