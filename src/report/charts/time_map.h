#pragma once

// How a value of many parts, such as the heads of a model, goes over the steps: a row of colours per part.

#include <optional>
#include <string>
#include <vector>

#include "report/charts/figure.h"
#include "report/charts/scale.h"

namespace quest::report {

struct TimeMapRow {
  std::string group;  // consecutive rows of a group stand together
  std::string name;
  std::vector<std::optional<double>> values;  // one per step
};

struct TimeMap {
  std::string title;
  std::string value_name;
  std::string group_title;
  std::string row_title;
  std::string x_title;        // in the singular: a step is named by it
  std::vector<double> steps;  // where the columns end
  std::vector<TimeMapRow> rows;
  Range colors;  // the values of the faintest and the strongest colour
  Spacing spacing = Spacing::linear;
};

[[nodiscard]] Panel time_map(const TimeMap& map);

}  // namespace quest::report
