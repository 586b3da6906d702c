#include "report/charts/heat_map.h"

#include <algorithm>

#include "report/charts/markup.h"
#include "report/charts/palette.h"
#include "report/charts/scale.h"
#include "report/charts/text_fit.h"

namespace quest::report {
namespace {

constexpr Range kLeft = {70.0, 140.0};
constexpr double kRowTitleRoom = 30.0;
constexpr double kTop = 30.0;
constexpr double kRight = 6.0;
constexpr Range kCellHeight = {4.0, 26.0};
constexpr double kWishedHeight = 320.0;
constexpr double kCellGap = 2.0;
constexpr double kFewestForGap = 10.0;  // smaller cells stand close
constexpr double kBelow = 40.0;
constexpr double kTextHeight = 11.0;

struct Layout {
  double left = 0.0;
  double width = 0.0;  // of a cell
  double height = 0.0;
  double gap = 0.0;
  double bottom = 0.0;

  [[nodiscard]] bool has_numbers() const { return width >= text_width("100") && height > kTextHeight; }
};

Layout layout_of(const HeatMap& map) {
  const auto rows = static_cast<double>(map.rows.size());
  const double left = std::clamp(kRowTitleRoom + text_width(map.rows), kLeft.from, kLeft.to);
  const double width = (kPanelWidth - left - kRight) / static_cast<double>(map.columns.size());
  const double height = std::clamp(kWishedHeight / rows, kCellHeight.from, kCellHeight.to);
  return {.left = left,
          .width = width,
          .height = height,
          .gap = std::min(width, height) < kFewestForGap ? 0.0 : kCellGap,
          .bottom = kTop + rows * height};
}

std::string cell(const HeatMap& map, const Layout& layout, std::size_t row, std::size_t column) {
  const double x = layout.left + static_cast<double>(column) * layout.width;
  const double y = kTop + static_cast<double>(row) * layout.height;
  const auto value = map.cells[row][column];
  const std::string place =
      map.row_title + " " + map.rows[row] + "\n" + map.column_title + " " + map.columns[column] + "\n";
  std::string drawing = rect(x, y, layout.width - layout.gap, layout.height - layout.gap);
  if (layout.has_numbers()) {
    drawing += text_at(x + (layout.width - layout.gap) / 2.0, y + layout.height / 2.0 + 3.0, Anchor::middle, "",
                       value ? number(100.0 * *value, 0) : "–");
  }
  return value ? mark("heat" + std::to_string(heat_step(*value)), place + percent(*value), drawing)
               : mark("empty", place + map.empty_note, drawing);
}

std::string labels(const HeatMap& map, const Layout& layout) {
  std::string drawing;
  const std::size_t row_stride = label_stride(kTextHeight, layout.height);
  for (std::size_t row = 0; row < map.rows.size(); row += row_stride) {
    drawing += text_at(layout.left - 8.0, kTop + (static_cast<double>(row) + 0.5) * layout.height + 3.0, Anchor::end,
                       "faint", shortened(map.rows[row], layout.left - kRowTitleRoom));
  }
  const std::size_t column_stride = label_stride(text_width(map.columns), layout.width);
  for (std::size_t column = 0; column < map.columns.size(); column += column_stride) {
    drawing += text_at(layout.left + (static_cast<double>(column) + 0.5) * layout.width, layout.bottom + 14.0,
                       Anchor::middle, "faint", map.columns[column]);
  }
  return drawing;
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
  const Layout layout = layout_of(map);
  const double middle_y = (kTop + layout.bottom) / 2.0;
  std::string drawing = text_at(layout.left, 18.0, Anchor::start, "title", map.title) + labels(map, layout);
  drawing += text_at((layout.left + kPanelWidth - kRight) / 2.0, layout.bottom + 32.0, Anchor::middle, "faint",
                     map.column_title);
  drawing += element("g", {{"transform", "rotate(-90 14 " + number(middle_y) + ")"}},
                     text_at(14.0, middle_y, Anchor::middle, "faint", map.row_title)) +
             "\n";
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) drawing += cell(map, layout, row, column);
  }
  return {
      .title = map.title, .summary = summary_of(map), .height = layout.bottom + kBelow, .drawing = std::move(drawing)};
}

}  // namespace quest::report
