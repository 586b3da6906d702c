#pragma once

// Numbers in lines of JSON, which knows neither NaN nor infinity: both are written as null, and null is read as NaN.

#include <nlohmann/json_fwd.hpp>

namespace quest::train {

// Six digits: as many as a float holds, and a third of the length of its exact value.
[[nodiscard]] double short_number(double value);

// Throws nlohmann's exceptions for anything but a number or null.
[[nodiscard]] double number_or_nan(const nlohmann::ordered_json& value);

}  // namespace quest::train
