#pragma once

// Numbers in lines of JSON, which knows neither NaN nor infinity: both are written as null, and null is read as NaN.

#include <limits>

namespace quest::base {

// Six digits: as many as a float holds, and a third of the length of its exact value.
[[nodiscard]] double short_number(double value);

// Of a value of nlohmann's. Throws its exceptions for anything but a number or null.
template <class Json>
[[nodiscard]] double number_or_nan(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.template get<double>();
}

}  // namespace quest::base
