#pragma once

#include <chrono>

namespace quest::base {

// Seconds since some fixed moment, on a clock that never goes back.
[[nodiscard]] inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace quest::base
