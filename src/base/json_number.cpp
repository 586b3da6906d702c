#include "base/json_number.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace quest::base {

double short_number(double value) {
  if (!std::isfinite(value)) return value;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::strtod(text.data(), nullptr);
}

}  // namespace quest::base
