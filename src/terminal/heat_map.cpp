#include "terminal/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "terminal/table.h"

namespace quest::terminal {
namespace {

constexpr std::size_t kLeastCell = 5;
constexpr const char* kGap = "   ";

// From dark to bright, in brightness as well as in hue: readable without telling colours apart.
struct Shade {
  int background;
  int text;
};
constexpr std::array<Shade, 6> kShades = {{{53, 231}, {60, 231}, {30, 231}, {35, 16}, {113, 16}, {227, 16}}};

std::string cell_text(std::optional<double> value, std::size_t width, const TerminalStyle& style) {
  if (!value) return pad("-", width - 1, base::Align::right) + " ";
  std::string text = pad(fixed(100.0 * *value, 0), width - 1, base::Align::right) + " ";
  if (!style.color) return text;
  const double position = std::clamp(*value, 0.0, 1.0) * (kShades.size() - 1);
  const Shade shade = kShades[static_cast<std::size_t>(std::lround(position))];
  return "\033[48;5;" + std::to_string(shade.background) + ";38;5;" + std::to_string(shade.text) + "m" + text +
         "\033[0m";
}

std::size_t widest(std::span<const std::string> texts) {
  std::size_t width = 0;
  for (const auto& text : texts) width = std::max(width, display_width(text));
  return width;
}

struct Geometry {
  std::size_t label;
  std::size_t cell;
  std::size_t map;
};

std::string band(std::span<const HeatMap> maps, const HeatMapAxes& axes, const Geometry& size,
                 const TerminalStyle& style) {
  const std::string margin(size.label + 1, ' ');
  std::string titles = margin;
  std::string header = pad(axes.row_title, size.label, base::Align::right) + " ";
  for (const HeatMap& map : maps) {
    if (&map != maps.data()) {
      titles += kGap;
      header += kGap;
    }
    titles += paint(pad(map.title, size.map, base::Align::left), Color::bold, style);
    header += pad("", size.map - size.cell * axes.columns.size(), base::Align::left);
    for (const auto& column : axes.columns) header += pad(column, size.cell - 1, base::Align::right) + " ";
  }
  std::string text = titles + "\n" + header + "\n";
  for (std::size_t row = 0; row < axes.rows.size(); ++row) {
    text += pad(axes.rows[row], size.label, base::Align::right) + " ";
    for (const HeatMap& map : maps) {
      if (&map != maps.data()) text += kGap;
      text += pad("", size.map - size.cell * axes.columns.size(), base::Align::left);
      for (const auto& value : map.cells.at(row)) text += cell_text(value, size.cell, style);
    }
    text += "\n";
  }
  return text + margin + axes.column_title + "\n";
}

}  // namespace

std::string heat_maps(std::span<const HeatMap> maps, const HeatMapAxes& axes, std::size_t width,
                      const TerminalStyle& style) {
  Geometry size{.label = std::max(widest(axes.rows), display_width(axes.row_title)),
                .cell = std::max(kLeastCell, widest(axes.columns) + 1),
                .map = 0};
  size.map = size.cell * axes.columns.size();
  for (const HeatMap& map : maps) size.map = std::max(size.map, display_width(map.title));
  const std::size_t gap = display_width(kGap);
  const std::size_t side_by_side =
      std::max<std::size_t>(1, (width - std::min(width, size.label + 1)) / (size.map + gap));
  std::string text;
  for (std::size_t first = 0; first < maps.size(); first += side_by_side) {
    if (first > 0) text += "\n";
    text += band(maps.subspan(first, std::min(side_by_side, maps.size() - first)), axes, size, style);
  }
  return text;
}

}  // namespace quest::terminal
