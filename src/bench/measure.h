#pragma once

// Side-by-side timing: contestants take turns within one process, so that a change in the machine's mood hits all
// alike.

#include <functional>
#include <span>
#include <vector>

namespace quest::bench {

// Runs once and returns the seconds of the part that counts.
using Contestant = std::function<double()>;

struct MeasurePlan {
  int least_repetitions = 15;
  int most_repetitions = 101;
  double sample_seconds = 2e-3;  // short runs are repeated until one sample takes this long
  double budget_seconds = 4.0;   // repetitions beyond the least stop here
};

struct Measurement {
  double median_ms = 0.0;
  double relative_spread = 0.0;  // interquartile range over median
};

// One measurement per contestant, in their order. on_progress receives the fraction done.
[[nodiscard]] std::vector<Measurement> measure_interleaved(std::span<const Contestant> contestants,
                                                           const MeasurePlan& plan,
                                                           const std::function<void(double)>& on_progress);

// Linear interpolation between order statistics; fraction 0.5 is the median. Throws on an empty sample.
[[nodiscard]] double quantile(std::vector<double> sample, double fraction);

[[nodiscard]] double geometric_mean(std::span<const double> values);

}  // namespace quest::bench
