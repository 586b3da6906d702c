#pragma once

// Lines over steps, each with the band between its quartiles.

#include <optional>
#include <string>
#include <vector>

#include "base/quartiles.h"
#include "report/charts/figure.h"
#include "report/charts/scale.h"

namespace quest::report {

struct Series {
  std::string name;
  int color = 0;
  std::vector<std::optional<base::Quartiles>> points;  // the line has a gap where a point is missing
  std::vector<double> x = {};                          // where they lie, in order; without any, at the chart's steps

  // Null where there is none.
  [[nodiscard]] const base::Quartiles* at(std::size_t step) const {
    if (step >= points.size()) return nullptr;
    const auto& point = points[step];
    return point ? &*point : nullptr;
  }
};

struct LineChart {
  std::string title;
  std::string x_title;  // in the singular: a step is named by it
  std::string y_title;
  std::string empty_note;  // instead of lines, where there are none
  Range y;
  Spacing y_spacing = Spacing::linear;
  std::vector<Series> series;
  std::vector<double> steps = {};  // where the points lie; without any, at 1, 2, 3, ...
};

[[nodiscard]] Panel line_chart(const LineChart& chart);

// From 0 to a round number that holds every band.
[[nodiscard]] Range range_from_zero(const std::vector<Series>& series);

// Values that lie far apart get a logarithmic axis, others one from 0.
void fit_y(LineChart& chart);

}  // namespace quest::report
