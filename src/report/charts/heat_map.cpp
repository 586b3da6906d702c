#include "report/charts/heat_map.h"

#include <algorithm>

#include "report/charts/markup.h"
#include "report/charts/palette.h"

namespace quest::report {
namespace {

constexpr double kLeft = 70.0;
constexpr double kTop = 30.0;
constexpr double kRight = 6.0;
constexpr double kCellHeight = 26.0;
constexpr double kCellGap = 2.0;
constexpr double kBelow = 40.0;

std::string cell(const HeatMap& map, std::size_t row, std::size_t column, double width) {
  const double x = kLeft + static_cast<double>(column) * width;
  const double y = kTop + static_cast<double>(row) * kCellHeight;
  const auto value = map.cells[row][column];
  const std::string place =
      map.row_title + " " + map.rows[row] + "\n" + map.column_title + " " + map.columns[column] + "\n";
  const std::string drawing = rect(x, y, width - kCellGap, kCellHeight - kCellGap) +
                              text_at(x + (width - kCellGap) / 2.0, y + kCellHeight / 2.0 + 3.0, Anchor::middle, "",
                                      value ? number(100.0 * *value, 0) : "–");
  return value ? mark("heat" + std::to_string(heat_step(*value)), place + percent(*value), drawing)
               : mark("empty", place + "not trained", drawing);
}

std::string summary_of(const HeatMap& map) {
  std::vector<double> known;
  for (const auto& row : map.cells) {
    for (const auto& value : row) {
      if (value) known.push_back(*value);
    }
  }
  if (known.empty()) return "No values.";
  const auto [least, most] = std::ranges::minmax(known);
  return "From " + percent(least) + " to " + percent(most) + " over " + map.row_title + " and " + map.column_title +
         ".";
}

}  // namespace

Panel heat_map(const HeatMap& map) {
  const double width = (kPanelWidth - kLeft - kRight) / static_cast<double>(map.columns.size());
  const double bottom = kTop + static_cast<double>(map.rows.size()) * kCellHeight;
  const double middle_y = (kTop + bottom) / 2.0;
  std::string drawing = text_at(kLeft, 18.0, Anchor::start, "title", map.title);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    drawing += text_at(kLeft - 8.0, kTop + (static_cast<double>(row) + 0.5) * kCellHeight + 3.0, Anchor::end, "faint",
                       map.rows[row]);
  }
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    drawing += text_at(kLeft + (static_cast<double>(column) + 0.5) * width, bottom + 14.0, Anchor::middle, "faint",
                       map.columns[column]);
  }
  drawing += text_at((kLeft + kPanelWidth - kRight) / 2.0, bottom + 32.0, Anchor::middle, "faint", map.column_title);
  drawing += element("g", {{"transform", "rotate(-90 14 " + number(middle_y) + ")"}},
                     text_at(14.0, middle_y, Anchor::middle, "faint", map.row_title)) +
             "\n";
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) drawing += cell(map, row, column, width);
  }
  return {.title = map.title, .summary = summary_of(map), .height = bottom + kBelow, .drawing = std::move(drawing)};
}

}  // namespace quest::report
