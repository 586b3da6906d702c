#pragma once

// Named values as lying bars, so that names have room; several series share the rows.

#include <optional>
#include <string>
#include <vector>

#include "report/charts/figure.h"

namespace quest::report {

struct BarSeries {
  std::string name;
  int color = 0;
  std::vector<std::optional<double>> values;  // one per bar; empty where nothing is known
};

struct BarChart {
  std::string title;
  std::string row_title;  // what the names are names of
  std::string value_title;
  std::vector<std::string> names;
  std::vector<BarSeries> series;
};

// Bars start at 0.
[[nodiscard]] Panel bar_chart(const BarChart& chart);

}  // namespace quest::report
