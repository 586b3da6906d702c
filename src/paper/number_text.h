#pragma once

// Numbers as texts, in tables and in recipes.

#include <string>
#include <string_view>

#include "paper/experiment.h"

namespace quest::paper {

// "73.36", "72.65 ± 0.10", "~0"; any other text has no value.
[[nodiscard]] Number number_of(const std::string& text);

// 72.654 -> "72.65"; never scientific, and no minus before a zero.
[[nodiscard]] std::string fixed(double value, int decimals);

inline constexpr std::string_view kPlusMinus = " ± ";

// The same text for values of a setting that mean the same: 0.01 and 1e-2, 1 and 1.0.
[[nodiscard]] std::string canonical_value(const std::string& value);

}  // namespace quest::paper
