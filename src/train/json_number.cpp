#include "train/json_number.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace quest::train {

double short_number(double value) {
  if (!std::isfinite(value)) return value;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::strtod(text.data(), nullptr);
}

double number_or_nan(const nlohmann::ordered_json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

}  // namespace quest::train
