#pragma once

// A grid of fractions drawn with numbers, and with colours where the terminal has them.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "terminal/terminal.h"

namespace quest::terminal {

struct HeatMap {
  std::string title;
  std::vector<std::vector<std::optional<double>>> cells;  // [row][column]; empty cells are drawn as "-"
};

struct HeatMapAxes {
  std::string row_title;
  std::vector<std::string> rows;
  std::string column_title;
  std::vector<std::string> columns;
};

// Maps over the same axes, side by side as far as `width` columns of text allow.
[[nodiscard]] std::string heat_maps(std::span<const HeatMap> maps, const HeatMapAxes& axes, std::size_t width,
                                    const TerminalStyle& style);

}  // namespace quest::terminal
