#include "base/quartiles.h"

#include <algorithm>
#include <cmath>

namespace quest::base {
namespace {

double quantile(const std::vector<double>& sorted, double part) {
  const double position = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

std::optional<Quartiles> quartiles(std::span<const double> values) {
  std::vector<double> sorted;
  std::ranges::copy_if(values, std::back_inserter(sorted), [](double value) { return std::isfinite(value); });
  if (sorted.empty()) return std::nullopt;
  std::ranges::sort(sorted);
  return Quartiles{quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)};
}

std::vector<int> bin_counts(std::span<const double> fractions, int bins) {
  std::vector<int> counts(bins);
  for (const double fraction : fractions) {
    // Accuracies are ratios of counts, so they may lie a rounding below the edge they are meant to be on.
    const int bin = static_cast<int>(std::floor(fraction * bins + 1e-6));
    ++counts[std::clamp(bin, 0, bins - 1)];
  }
  return counts;
}

}  // namespace quest::base
