#pragma once

// The steps at which a figure shows something: those of the log, or stretches of steps where they are too many.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/quartiles.h"

namespace quest::report {

struct StepValue {
  std::int64_t step = 0;
  double value = 0.0;
};

class StepAxis {
 public:
  // One list of steps per run, each in order. Stretches are wide enough to hold a step of every run.
  StepAxis(std::span<const std::vector<std::int64_t>> runs, std::size_t most);

  [[nodiscard]] std::size_t size() const { return size_; }
  // The last step of each stretch.
  [[nodiscard]] std::vector<double> steps() const;
  [[nodiscard]] std::size_t index(std::int64_t step) const {
    return static_cast<std::size_t>((step - first_) / width_);
  }

  // What the values in each stretch are like; nothing where none is finite.
  [[nodiscard]] std::vector<std::optional<base::Quartiles>> points(std::span<const StepValue> values) const;

 private:
  std::int64_t first_ = 1;
  std::int64_t width_ = 1;
  std::size_t size_ = 0;
};

}  // namespace quest::report
