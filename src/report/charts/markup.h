#pragma once

// Text that becomes HTML or SVG. Everything that is not markup goes through escaped() or an attribute of element().

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace quest::report {

// Safe between tags and inside a quoted attribute, where line breaks survive.
[[nodiscard]] std::string escaped(std::string_view text);

using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// <name key="value">content</name>: values are escaped, the content is markup already.
[[nodiscard]] std::string element(std::string_view name, Attributes attributes, std::string_view content = "");

// At most this many decimals and no trailing zeros: 12, 0.5, -3.25. The same in every locale; "–" for what is not
// finite.
[[nodiscard]] std::string number(double value, int decimals = 2);

// Exactly so many decimals, for columns: 42.00.
[[nodiscard]] std::string fixed(double value, int decimals = 2);

// Four significant digits: 0.0312, 25.3, 12346; with an exponent where that is shorter: 2.5e-5.
[[nodiscard]] std::string compact(double value);

// 12345 -> "12,345".
[[nodiscard]] std::string grouped(long long value);

// 0.583 -> "58 %", with a space at which no line breaks.
[[nodiscard]] std::string percent(double fraction);

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace quest::report
