#pragma once

#include <optional>
#include <span>
#include <vector>

namespace quest::base {

struct Quartiles {
  double low = 0.0;
  double middle = 0.0;
  double high = 0.0;
};

// Of the finite values, between neighbours by straight lines; nothing when there are none.
[[nodiscard]] std::optional<Quartiles> quartiles(std::span<const double> values);

// How many of the values, fractions from 0 to 1, fall into each of that many equal bins; 1 belongs to the last.
[[nodiscard]] std::vector<int> bin_counts(std::span<const double> fractions, int bins);

}  // namespace quest::base
