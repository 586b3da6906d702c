#pragma once

// Repeated measurements side by side: a dot for each, their mean and deviation, and the value they are compared with.

#include <optional>
#include <string>
#include <vector>

#include "report/charts/figure.h"

namespace quest::report {

struct DotGroup {
  std::string name;
  std::vector<double> values;
  double mean = 0.0;
  double deviation = 0.0;
  std::optional<double> reference;
  std::string note = {};  // told beside the values
};

struct DotChart {
  std::string title;
  std::string y_title;
  std::string reference_name;
  std::vector<DotGroup> groups;
};

inline constexpr int kDotColor = 0;
inline constexpr int kReferenceColor = 1;

// The vertical axis shows what there is, not 0.
[[nodiscard]] Panel dot_chart(const DotChart& chart);

}  // namespace quest::report
