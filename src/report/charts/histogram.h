#pragma once

// How fractions from 0 to 1 are distributed: one bar per bin.

#include <string>
#include <vector>

#include "report/charts/figure.h"

namespace quest::report {

struct Histogram {
  std::string title;
  std::string x_title;
  std::string y_title;
  int color = 1;
  std::vector<int> counts;  // equal bins from 0 to 1
  int most = 1;             // the count at the top of the y axis, or a little below
};

[[nodiscard]] Panel histogram(const Histogram& histogram);

// "35 to 40 %": what a bin holds.
[[nodiscard]] std::string bin_name(std::size_t bin, std::size_t bins);

}  // namespace quest::report
