#include "data/formats/ts_preparation.h"

#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

std::span<double> dimension_of(TsCase& series, std::size_t index) {
  return std::span(series.values).subspan(index * series.length, series.length);
}

double mean_of(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Between two values that are there, or outside of all of them, where the nearest repeats.
void fill(std::span<double> values) {
  std::size_t known = values.size();  // the last value that is there; none yet
  for (std::size_t i = 0; i <= values.size(); ++i) {
    const bool end = i == values.size();
    if (!end && std::isnan(values[i])) continue;
    const std::size_t first = known == values.size() ? 0 : known + 1;
    for (std::size_t j = first; j < i; ++j) {
      if (end) {
        values[j] = values[known];
      } else if (first == 0) {
        values[j] = values[i];
      } else {
        const double share = static_cast<double>(j - known) / static_cast<double>(i - known);
        values[j] = values[known] + share * (values[i] - values[known]);
      }
    }
    known = i;
  }
}

}  // namespace

void fill_missing(TsFile& file) {
  for (std::size_t i = 0; i < file.cases.size(); ++i) {
    for (std::size_t d = 0; d < file.dimensions; ++d) {
      const auto values = dimension_of(file.cases[i], d);
      std::size_t missing = 0;
      for (const double value : values) missing += std::isnan(value) ? 1 : 0;
      if (missing == values.size()) {
        throw FormatError("case " + std::to_string(i + 1) + ": expected at least one value in dimension " +
                          std::to_string(d + 1) + ", found only missing ones");
      }
      if (missing > 0) fill(values);
    }
  }
}

void standardize(TsFile& file) {
  for (std::size_t d = 0; d < file.dimensions; ++d) {
    double sum = 0.0;
    double steps = 0.0;
    for (TsCase& series : file.cases) {
      for (const double value : dimension_of(series, d)) sum += value;
      steps += static_cast<double>(series.length);
    }
    const double mean = sum / steps;
    double squares = 0.0;
    for (TsCase& series : file.cases) {
      for (const double value : dimension_of(series, d)) squares += (value - mean) * (value - mean);
    }
    const double deviation = std::sqrt(squares / std::max(steps - 1.0, 1.0)) + std::numeric_limits<double>::epsilon();
    for (TsCase& series : file.cases) {
      for (double& value : dimension_of(series, d)) value = (value - mean) / deviation;
    }
  }
}

void normalize_cases(TsFile& file) {
  constexpr double kSmallest = 1e-5;
  std::vector<double> step(file.dimensions);
  for (TsCase& series : file.cases) {
    for (std::size_t d = 0; d < file.dimensions; ++d) {
      const auto values = dimension_of(series, d);
      const double mean = mean_of(values);
      for (double& value : values) value -= mean;
    }
    for (std::size_t t = 0; t < series.length; ++t) {
      for (std::size_t d = 0; d < file.dimensions; ++d) step[d] = series.values[d * series.length + t];
      const double mean = mean_of(step);
      double squares = 0.0;
      for (const double value : step) squares += (value - mean) * (value - mean);
      const double deviation = std::sqrt(squares / static_cast<double>(file.dimensions) + kSmallest);
      for (std::size_t d = 0; d < file.dimensions; ++d) series.values[d * series.length + t] /= deviation;
    }
  }
}

}  // namespace quest::data
