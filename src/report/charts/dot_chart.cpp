#include "report/charts/dot_chart.h"

#include <algorithm>
#include <limits>

#include "report/charts/markup.h"
#include "report/charts/plot_frame.h"

namespace quest::report {
namespace {

constexpr int kTicks = 5;
constexpr double kDotsWidth = 0.4;  // in groups: how far they spread
constexpr double kMeanHalf = 0.3;
constexpr double kReferenceHalf = 0.42;

Range range_of(const DotChart& chart) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  const auto include = [&](double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  };
  for (const DotGroup& group : chart.groups) {
    for (const double value : group.values) include(value);
    include(group.mean - group.deviation);
    include(group.mean + group.deviation);
    if (group.reference) include(*group.reference);
  }
  if (least > most) return {0.0, 1.0};
  return rounded({least, most > least ? most : least + 1.0}, kTicks);
}

std::string label_of(const DotChart& chart, const DotGroup& group) {
  std::string label = group.name + "\nmean " + compact(group.mean) + " ± " + compact(group.deviation);
  label += "\n" + grouped(static_cast<long long>(group.values.size())) + " values";
  if (group.reference) label += "\n" + chart.reference_name + " " + compact(*group.reference);
  return group.note.empty() ? label : label + "\n" + group.note;
}

std::string group_drawing(const PlotFrame& frame, const DotGroup& group, double at) {
  const auto across = [&](double y, double half) {
    return line(frame.x()(at - half), frame.y()(y), frame.x()(at + half), frame.y()(y), "line");
  };
  std::string ours = across(group.mean, kMeanHalf);
  ours += line(frame.x()(at), frame.y()(group.mean - group.deviation), frame.x()(at),
               frame.y()(group.mean + group.deviation), "line");
  const auto count = static_cast<double>(group.values.size());
  for (std::size_t i = 0; i < group.values.size(); ++i) {
    const double place = (static_cast<double>(i) + 0.5) / count - 0.5;
    ours += dot(frame.x()(at + kDotsWidth * place), frame.y()(group.values[i]));
  }
  const auto in_color = [](int color, const std::string& drawing) {
    return element("g", {{"class", "series" + std::to_string(color)}}, drawing);
  };
  const std::string reference =
      group.reference ? in_color(kReferenceColor, across(*group.reference, kReferenceHalf)) : "";
  return reference + in_color(kDotColor, ours);
}

}  // namespace

Panel dot_chart(const DotChart& chart) {
  std::vector<std::string> names;
  std::string summary;
  for (const DotGroup& group : chart.groups) {
    names.push_back(group.name);
    summary += group.name + " " + compact(group.mean) + " ± " + compact(group.deviation) + ". ";
  }
  const double last = static_cast<double>(chart.groups.size()) - 0.5;
  const PlotFrame frame(chart.title, {.title = "", .range = {-0.5, last}, .names = names},
                        {.title = chart.y_title, .range = range_of(chart)});
  std::string drawing = frame.drawing();
  for (std::size_t i = 0; i < chart.groups.size(); ++i) {
    const auto at = static_cast<double>(i);
    drawing +=
        mark("step", label_of(chart, chart.groups[i]),
             group_drawing(frame, chart.groups[i], at) + PlotFrame::target(frame.x()(at - 0.5), frame.x()(at + 0.5)));
  }
  return {.title = chart.title,
          .summary = "Means: " + summary,
          .height = PlotFrame::height(),
          .drawing = std::move(drawing)};
}

}  // namespace quest::report
