#pragma once

// A grid of fractions as coloured cells, numbered where they have room for it.

#include <optional>
#include <string>
#include <vector>

#include "report/charts/figure.h"

namespace quest::report {

struct HeatMap {
  std::string title;
  std::string row_title;
  std::vector<std::string> rows;
  std::string column_title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<double>>> cells;  // [row][column], fractions; empty where nothing is known
  std::string empty_note = "not trained";                 // what a cell without a value tells
};

[[nodiscard]] Panel heat_map(const HeatMap& map);

}  // namespace quest::report
