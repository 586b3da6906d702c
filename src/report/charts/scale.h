#pragma once

// From values to coordinates, and the round values worth a tick.

#include <vector>

namespace quest::report {

struct Range {
  double from = 0.0;
  double to = 1.0;
};

enum class Spacing { linear, logarithmic };

// Values at the two ends, coordinates at the two ends; coordinates may run backwards. A logarithmic scale takes
// positive values; what lies below its range is drawn at its end.
class Scale {
 public:
  Scale(Range values, Range coordinates, Spacing spacing = Spacing::linear);

  [[nodiscard]] double operator()(double value) const;

 private:
  Range values_;
  Range coordinates_;
  Spacing spacing_;
};

// Multiples of 1, 2 or 5 times a power of ten inside the range, about as many as asked for.
[[nodiscard]] std::vector<double> ticks(Range values, int about);

// Powers of ten inside the range, with twice and five times those where they are few.
[[nodiscard]] std::vector<double> logarithmic_ticks(Range values);

// The range widened to the ticks around it.
[[nodiscard]] Range rounded(Range values, int about);

// Decimals that tell such ticks apart.
[[nodiscard]] int tick_decimals(const std::vector<double>& ticks);

}  // namespace quest::report
