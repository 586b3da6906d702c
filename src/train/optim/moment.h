#pragma once

#include <cstdint>
#include <functional>

namespace quest::train {

// Where a training is.
struct Moment {
  std::int64_t step = 0;  // counted from 0
  std::int64_t total_steps = 1;
  std::int64_t steps_per_epoch = 1;

  [[nodiscard]] double epoch() const { return static_cast<double>(step) / static_cast<double>(steps_per_epoch); }
  [[nodiscard]] double progress() const { return static_cast<double>(step) / static_cast<double>(total_steps); }
};

using FunctionOfMoment = std::function<double(const Moment& moment)>;

}  // namespace quest::train
