#include "report/charts/scale.h"

#include <algorithm>
#include <cmath>

namespace quest::report {
namespace {

// A hundredth of a step: room for the rounding of from / step.
constexpr double kSlack = 0.01;

double step_of(Range values, int about) {
  const double raw = (values.to - values.from) / about;
  if (!(raw > 0.0)) return 1.0;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1.0 + kSlack)) return factor * power;
  }
  return 10.0 * power;
}

}  // namespace

Scale::Scale(Range values, Range coordinates, Spacing spacing)
    : values_(values), coordinates_(coordinates), spacing_(spacing) {
  if (spacing_ == Spacing::logarithmic) values_ = {std::log10(values.from), std::log10(values.to)};
}

double Scale::operator()(double value) const {
  if (spacing_ == Spacing::logarithmic) value = value > 0.0 ? std::max(std::log10(value), values_.from) : values_.from;
  const double width = values_.to - values_.from;
  const double part = width == 0.0 ? 0.5 : (value - values_.from) / width;
  return coordinates_.from + part * (coordinates_.to - coordinates_.from);
}

std::vector<double> ticks(Range values, int about) {
  const double step = step_of(values, about);
  const auto first = static_cast<long long>(std::ceil(values.from / step - kSlack));
  const auto last = static_cast<long long>(std::floor(values.to / step + kSlack));
  std::vector<double> result;
  for (long long i = first; i <= last; ++i) result.push_back(static_cast<double>(i) * step);
  return result;
}

std::vector<double> logarithmic_ticks(Range values) {
  const auto inside = [values](std::initializer_list<double> factors) {
    std::vector<double> result;
    const int last = static_cast<int>(std::ceil(std::log10(values.to)));
    for (int exponent = static_cast<int>(std::floor(std::log10(values.from))); exponent <= last; ++exponent) {
      for (const double factor : factors) {
        const double tick = factor * std::pow(10.0, exponent);
        if (tick >= values.from * (1.0 - kSlack) && tick <= values.to * (1.0 + kSlack)) result.push_back(tick);
      }
    }
    return result;
  };
  auto powers = inside({1.0});
  return powers.size() >= 3 ? powers : inside({1.0, 2.0, 5.0});
}

Range rounded(Range values, int about) {
  const double step = step_of(values, about);
  return {std::floor(values.from / step + kSlack) * step, std::ceil(values.to / step - kSlack) * step};
}

int tick_decimals(const std::vector<double>& ticks) {
  if (ticks.size() < 2) return 2;
  const double step = ticks[1] - ticks[0];
  return std::max(0, static_cast<int>(std::ceil(-std::log10(step) - kSlack)));
}

}  // namespace quest::report
