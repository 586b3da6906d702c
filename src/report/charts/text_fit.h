#pragma once

// How much room the small text of a drawing takes. It is an estimate: what draws an SVG chooses the font.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quest::report {

inline constexpr double kLetterWidth = 6.0;

[[nodiscard]] double text_width(std::string_view text);
// Of the longest; 0 without any.
[[nodiscard]] double text_width(const std::vector<std::string>& texts);

// The text, or its beginning and "…" where it is wider. At least one letter is left.
[[nodiscard]] std::string shortened(std::string_view text, double width);

// Every how many labels one is shown, where each takes `wanted` and has `room`.
[[nodiscard]] std::size_t label_stride(double wanted, double room);

}  // namespace quest::report
