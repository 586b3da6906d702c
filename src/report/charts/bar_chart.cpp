#include "report/charts/bar_chart.h"

#include <algorithm>

#include "report/charts/markup.h"
#include "report/charts/scale.h"
#include "report/charts/text_fit.h"

namespace quest::report {
namespace {

constexpr double kTop = 30.0;
constexpr double kBelow = 44.0;
constexpr double kRight = 44.0;  // for the value at the end of a bar
constexpr double kTitleRoom = 22.0;
constexpr Range kNameRoom = {24.0, 120.0};
constexpr Range kRowHeight = {5.0, 20.0};
constexpr double kSeriesHeight = 11.0;  // of each where a row has several
constexpr double kWishedHeight = 420.0;
constexpr double kTextHeight = 10.0;
constexpr double kBarPart = 0.8;
constexpr int kTicks = 4;

struct Layout {
  double left = 0.0;
  double row = 0.0;
  double bottom = 0.0;
  Scale x;
};

Range range_of(const BarChart& chart) {
  Range range = {0.0, 0.0};
  for (const BarSeries& series : chart.series) {
    for (const auto& value : series.values) {
      range = {std::min(range.from, value.value_or(0.0)), std::max(range.to, value.value_or(0.0))};
    }
  }
  return rounded({range.from, range.to > range.from ? range.to : range.from + 1.0}, kTicks);
}

Layout layout_of(const BarChart& chart) {
  const auto rows = static_cast<double>(chart.names.size());
  const double wished = std::max(kRowHeight.to, kSeriesHeight * static_cast<double>(chart.series.size()));
  const double row = std::clamp(kWishedHeight / rows, kRowHeight.from, wished);
  const double left = kTitleRoom + std::clamp(text_width(chart.names), kNameRoom.from, kNameRoom.to) + 6.0;
  return {
      .left = left, .row = row, .bottom = kTop + rows * row, .x = Scale(range_of(chart), {left, kPanelWidth - kRight})};
}

std::string axes(const BarChart& chart, const Layout& layout) {
  const double middle = (kTop + layout.bottom) / 2.0;
  std::string drawing = text_at(layout.left, 18.0, Anchor::start, "title", chart.title);
  const auto values = ticks(range_of(chart), kTicks);
  for (const double value : values) {
    const double x = layout.x(value);
    drawing += line(x, kTop, x, layout.bottom, "grid") +
               text_at(x, layout.bottom + 14.0, Anchor::middle, "faint", number(value, tick_decimals(values)));
  }
  drawing += line(layout.x(0.0), kTop, layout.x(0.0), layout.bottom, "axis") +
             text_at((layout.left + kPanelWidth - kRight) / 2.0, layout.bottom + 32.0, Anchor::middle, "faint",
                     chart.value_title) +
             element("g", {{"transform", "rotate(-90 14 " + number(middle) + ")"}},
                     text_at(14.0, middle, Anchor::middle, "faint", chart.row_title));
  const std::size_t stride = label_stride(kTextHeight, layout.row);
  for (std::size_t row = 0; row < chart.names.size(); row += stride) {
    const double y = kTop + (static_cast<double>(row) + 0.5) * layout.row;
    drawing += text_at(layout.left - 6.0, y + 4.0, Anchor::end, "faint", shortened(chart.names[row], kNameRoom.to));
  }
  return drawing + "\n";
}

std::string bar(const BarChart& chart, const Layout& layout, std::size_t row, std::size_t which) {
  const BarSeries& series = chart.series[which];
  const double height = layout.row / static_cast<double>(chart.series.size());
  const double y = kTop + static_cast<double>(row) * layout.row + static_cast<double>(which) * height;
  const auto value = series.values[row];
  std::string drawing = rect(layout.left, y, kPanelWidth - layout.left, height, "target");
  if (value) {
    const double from = std::min(layout.x(0.0), layout.x(*value));
    const double to = std::max(layout.x(0.0), layout.x(*value));
    drawing += rect(from, y + (1.0 - kBarPart) / 2.0 * height, to - from, kBarPart * height, "bar");
    if (height >= kTextHeight) drawing += text_at(to + 4.0, y + height / 2.0 + 4.0, Anchor::start, "", compact(*value));
  }
  const std::string of_series = chart.series.size() > 1 ? series.name + ": " : chart.value_title + " ";
  return mark("series" + std::to_string(series.color),
              chart.row_title + " " + chart.names[row] + "\n" + of_series + (value ? compact(*value) : "–"), drawing);
}

std::string summary_of(const BarChart& chart) {
  std::string summary;
  for (const BarSeries& series : chart.series) {
    std::optional<std::size_t> least;
    std::optional<std::size_t> most;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (!series.values[i]) continue;
      if (!least || *series.values[i] < *series.values[*least]) least = i;
      if (!most || *series.values[i] > *series.values[*most]) most = i;
    }
    if (!least) continue;
    summary += (chart.series.size() > 1 ? series.name + ": " : "") + "from " + compact(*series.values[*least]) + " (" +
               chart.names[*least] + ") to " + compact(*series.values[*most]) + " (" + chart.names[*most] + "). ";
  }
  return summary.empty() ? "No values." : summary;
}

}  // namespace

Panel bar_chart(const BarChart& chart) {
  const Layout layout = layout_of(chart);
  std::string drawing = axes(chart, layout);
  for (std::size_t row = 0; row < chart.names.size(); ++row) {
    for (std::size_t i = 0; i < chart.series.size(); ++i) drawing += bar(chart, layout, row, i);
  }
  return {.title = chart.title,
          .summary = summary_of(chart),
          .height = layout.bottom + kBelow,
          .drawing = std::move(drawing)};
}

}  // namespace quest::report
