#pragma once

// Element-wise comparison with a stated error model; a failure names the worst element.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace quest::testing {

// |actual − expected| ≤ of_largest · max|expected| + of_value · |expected| + absolute
struct Bound {
  double of_largest = 0.0;
  double of_value = 0.0;
  double absolute = 0.0;
};

inline constexpr Bound kExact{};

// What the rounding of two float32 terms leaves where terms of this size cancel.
inline constexpr double kCancellation = 0x1p-23;

// [2, 0, 5] for the position of a flat index in an array of these sizes.
inline std::string index_text(std::size_t flat, const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    text = std::to_string(flat % static_cast<std::size_t>(*size)) + (text.empty() ? "" : ", ") + text;
    flat /= static_cast<std::size_t>(*size);
  }
  return "[" + text + "]";
}

inline double largest_magnitude(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) {
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  }
  return largest;
}

// NaN matches only NaN, an infinity only itself.
inline double distance(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) {
    return 0.0;
  }
  const double error = std::abs(actual - expected);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

inline ::testing::AssertionResult all_close(const std::vector<double>& actual, const std::vector<double>& expected,
                                            const Bound& bound, const std::vector<std::int64_t>& sizes) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " elements, expected " << expected.size();
  }
  const double largest = largest_magnitude(expected);
  double worst_excess = 0.0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double value = std::isfinite(expected[i]) ? std::abs(expected[i]) : 0.0;
    const double allowed = bound.of_largest * largest + bound.of_value * value + bound.absolute;
    const double excess = distance(actual[i], expected[i]) - allowed;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (worst_excess <= 0.0) {
    return ::testing::AssertionSuccess();
  }
  std::ostringstream text;
  text.precision(9);
  text << "worst element " << index_text(worst, sizes) << ": " << actual[worst] << ", expected " << expected[worst]
       << ", error " << distance(actual[worst], expected[worst]) << " = "
       << distance(actual[worst], expected[worst]) / largest << " of the largest " << largest << "; allowed "
       << bound.of_largest << " of the largest + " << bound.of_value << " of the value + " << bound.absolute;
  return ::testing::AssertionFailure() << text.str();
}

}  // namespace quest::testing
