#include "report/charts/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "report/charts/markup.h"
#include "report/charts/plot_frame.h"

namespace quest::report {
namespace {

constexpr int kTicks = 5;

double place_of(const LineChart& chart, const Series& series, std::size_t i) {
  if (!series.x.empty()) return series.x[i];
  return i < chart.steps.size() ? chart.steps[i] : static_cast<double>(i + 1);
}

// Where any series has its points, in order.
std::vector<double> places_of(const LineChart& chart) {
  std::vector<double> places;
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.points.size(); ++i) places.push_back(place_of(chart, series, i));
  }
  std::ranges::sort(places);
  const auto repeated = std::ranges::unique(places);
  places.erase(repeated.begin(), repeated.end());
  return places;
}

const base::Quartiles* point_at(const LineChart& chart, const Series& series, double place) {
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    if (place_of(chart, series, i) == place) return series.at(i);
  }
  return nullptr;
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
    const double x = frame.x()(place_of(chart, series, i));
    const base::Quartiles& point = *series.at(i);
    const std::string separator = i == first ? "" : "L";
    middle += separator + coordinates(x, frame.y()(point.middle));
    upper += separator + coordinates(x, frame.y()(point.high));
    lower = "L" + coordinates(x, frame.y()(point.low)) + lower;
  }
  // A line through one point shows nothing.
  const std::string alone =
      end - first > 1 ? "" : dot(frame.x()(place_of(chart, series, first)), frame.y()(series.at(first)->middle));
  return element("path", {{"class", "band"}, {"d", "M" + upper + lower + "Z"}}) +
         element("path", {{"class", "line"}, {"d", "M" + middle}}) + alone;
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

std::string place_text(double place) { return place == std::floor(place) ? number(place) : compact(place); }

std::string label_at(const LineChart& chart, double place) {
  std::string label = chart.x_title + " " + place_text(place);
  for (const Series& series : chart.series) {
    const base::Quartiles* point = point_at(chart, series, place);
    label += "\n" + series.name + ": " + (point == nullptr ? "–" : compact(point->middle));
    if (point != nullptr && point->low != point->high) {
      label += " (" + compact(point->low) + " to " + compact(point->high) + ")";
    }
  }
  return label;
}

bool has_bands(const LineChart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& series) {
    return std::ranges::any_of(series.points, [](const auto& point) { return point && point->low != point->high; });
  });
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
  if (summary.empty()) return chart.empty_note + ".";
  return (has_bands(chart) ? "Medians: " : "") + summary;
}

}  // namespace

Panel line_chart(const LineChart& chart) {
  const auto places = places_of(chart);
  const double first = places.empty() ? 1.0 : places.front();
  const double last = places.size() < 2 ? first + 1.0 : places.back();
  const PlotFrame frame(chart.title, {.title = chart.x_title, .range = {first, last}},
                        {.title = chart.y_title, .range = chart.y, .spacing = chart.y_spacing});
  std::string drawing = frame.drawing();
  if (is_empty(chart)) {
    drawing += PlotFrame::note(chart.empty_note);
  } else {
    for (const Series& series : chart.series) drawing += series_drawing(chart, frame, series);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double from = i == 0 ? first : (places[i - 1] + places[i]) / 2.0;
      const double to = i + 1 == places.size() ? last : (places[i] + places[i + 1]) / 2.0;
      drawing += mark("step", label_at(chart, places[i]), PlotFrame::target(frame.x()(from), frame.x()(to)));
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
