#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace quest::app {

inline constexpr const char* kDtypeNames = "float32, bfloat16, float16, float64";

// Throws UsageError that lists the known names.
[[nodiscard]] c10::ScalarType parse_dtype(std::string_view name);

}  // namespace quest::app
