#include "report/charts/step_axis.h"

#include <algorithm>

namespace quest::report {

StepAxis::StepAxis(std::span<const std::vector<std::int64_t>> runs, std::size_t most) {
  std::int64_t last = 0;
  bool is_first = true;
  for (const auto& steps : runs) {
    if (steps.empty()) continue;
    first_ = is_first ? steps.front() : std::min(first_, steps.front());
    last = std::max(last, steps.back());
    is_first = false;
    for (std::size_t i = 1; i < steps.size(); ++i) width_ = std::max(width_, steps[i] - steps[i - 1]);
  }
  if (is_first) return;
  // A stretch ends where a full one does, so that steps 10, 20, 30 are shown as such.
  const std::int64_t wide_enough = (last - first_) / static_cast<std::int64_t>(most) + 1;
  width_ *= (wide_enough + width_ - 1) / width_;
  first_ = (first_ - 1) / width_ * width_ + 1;
  size_ = index(last) + 1;
}

std::vector<double> StepAxis::steps() const {
  std::vector<double> result;
  result.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    result.push_back(static_cast<double>(first_ - 1 + static_cast<std::int64_t>(i + 1) * width_));
  }
  return result;
}

std::vector<std::optional<base::Quartiles>> StepAxis::points(std::span<const StepValue> values) const {
  std::vector<std::vector<double>> stretches(size_);
  for (const StepValue& value : values) stretches[index(value.step)].push_back(value.value);
  std::vector<std::optional<base::Quartiles>> result;
  result.reserve(size_);
  for (const auto& stretch : stretches) result.push_back(base::quartiles(stretch));
  return result;
}

}  // namespace quest::report
