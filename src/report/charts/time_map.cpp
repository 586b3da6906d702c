#include "report/charts/time_map.h"

#include <algorithm>
#include <limits>

#include "report/charts/markup.h"
#include "report/charts/palette.h"

namespace quest::report {
namespace {

constexpr double kLeft = 54.0;
constexpr double kRight = 10.0;
constexpr double kKeyTop = 28.0;
constexpr double kKeyHeight = 8.0;
constexpr double kTop = 44.0;
constexpr double kBelow = 40.0;
constexpr double kGroupGap = 3.0;
constexpr double kWishedHeight = 240.0;
constexpr Range kRowHeight = {4.0, 14.0};
constexpr int kTicks = 5;

int step_of_color(const TimeMap& map, double value) {
  return heat_step(Scale(map.colors, {0.0, 1.0}, map.spacing)(value));
}

// Which colour means what.
std::string color_key(const TimeMap& map) {
  const double end = kPanelWidth - kRight;
  const double from = end - 110.0 - 44.0;
  std::string drawing = text_at(from - 6.0, kKeyTop + kKeyHeight, Anchor::end, "faint", compact(map.colors.from));
  for (int step = 0; step < kHeatSteps; ++step) {
    drawing += element("g", {{"class", "heat" + std::to_string(step)}},
                       rect(from + step * 110.0 / kHeatSteps, kKeyTop, 110.0 / kHeatSteps + 0.3, kKeyHeight));
  }
  return drawing + text_at(from + 116.0, kKeyTop + kKeyHeight, Anchor::start, "faint", compact(map.colors.to));
}

std::string cell(const TimeMap& map, const TimeMapRow& row, std::size_t column, double y, double height) {
  const double width = (kPanelWidth - kLeft - kRight) / static_cast<double>(map.steps.size());
  const auto value = row.values[column];
  const std::string place = map.group_title + " " + row.group + ", " + map.row_title + " " + row.name + "\n" +
                            map.x_title + " " + number(map.steps[column]) + "\n" + map.value_name + " ";
  const std::string drawing = rect(kLeft + static_cast<double>(column) * width, y, width, height);
  return value ? mark("heat" + std::to_string(step_of_color(map, *value)), place + compact(*value), drawing)
               : mark("empty", place + "–", drawing);
}

std::string x_axis(const TimeMap& map, double y) {
  const double first = map.steps.size() > 1 ? 2.0 * map.steps[0] - map.steps[1] : 0.0;
  const Range range = {first, map.steps.back()};
  const Scale scale(range, {kLeft, kPanelWidth - kRight});
  std::string drawing;
  for (const double value : ticks(range, kTicks)) {
    drawing += line(scale(value), y, scale(value), y + 4.0, "axis") +
               text_at(scale(value), y + 16.0, Anchor::middle, "faint", number(value));
  }
  return drawing + text_at((kLeft + kPanelWidth - kRight) / 2.0, y + 34.0, Anchor::middle, "faint", map.x_title);
}

std::string summary_of(const TimeMap& map) {
  const TimeMapRow* strongest = nullptr;
  std::size_t column = 0;
  double most = -std::numeric_limits<double>::infinity();
  for (const TimeMapRow& row : map.rows) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const double value = row.values[i].value_or(-std::numeric_limits<double>::infinity());
      if (value <= most) continue;
      strongest = &row;
      column = i;
      most = value;
    }
  }
  if (strongest == nullptr) return "No values.";
  return "The largest " + map.value_name + " is " + compact(most) + ", of " + map.group_title + " " + strongest->group +
         " " + map.row_title + " " + strongest->name + " at " + map.x_title + " " + number(map.steps[column]) + ".";
}

}  // namespace

Panel time_map(const TimeMap& map) {
  const double height =
      std::clamp(kWishedHeight / static_cast<double>(map.rows.size()), kRowHeight.from, kRowHeight.to);
  std::string drawing = text_at(kLeft, 18.0, Anchor::start, "title", map.title) + color_key(map) + "\n";
  double y = kTop;
  for (std::size_t first = 0; first < map.rows.size();) {
    const double top = y;
    std::size_t end = first;
    for (; end < map.rows.size() && map.rows[end].group == map.rows[first].group; ++end, y += height) {
      for (std::size_t column = 0; column < map.steps.size(); ++column) {
        drawing += cell(map, map.rows[end], column, y, height);
      }
    }
    drawing += text_at(kLeft - 6.0, (top + y) / 2.0 + 4.0, Anchor::end, "faint", map.rows[first].group);
    y += kGroupGap;
    first = end;
  }
  const double middle = (kTop + y) / 2.0;
  drawing += element("g", {{"transform", "rotate(-90 12 " + number(middle) + ")"}},
                     text_at(12.0, middle, Anchor::middle, "faint", map.group_title)) +
             x_axis(map, y);
  return {.title = map.title, .summary = summary_of(map), .height = y + kBelow, .drawing = std::move(drawing)};
}

}  // namespace quest::report
