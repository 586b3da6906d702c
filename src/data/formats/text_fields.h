#pragma once

// Lines, columns and numbers of text tables. Needs no torch. Errors are FormatErrors.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/format_error.h"

namespace quest::data {

// What stands between the separators; nothing at all in an empty text.
[[nodiscard]] std::vector<std::string_view> fields_of(std::string_view text, char separator);

// From 0 to `end` - 1, which for the first is no more than fits.
[[nodiscard]] std::int32_t number_below(std::string_view text, std::int64_t end, const char* what);
[[nodiscard]] std::int64_t large_number_below(std::string_view text, std::int64_t end, const char* what);
[[nodiscard]] double finite_number(std::string_view text, const char* what);

// read(line) for every line that is not empty; what it says is wrong gets the line's number in front.
template <typename Read>
void for_each_line(std::string_view content, const Read& read) {
  for (std::size_t number = 1; !content.empty(); ++number) {
    const auto end = content.find('\n');
    auto line = content.substr(0, end);
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    try {
      read(line);
    } catch (const FormatError& error) {
      throw FormatError("line " + std::to_string(number) + ": " + error.what());
    }
  }
}

}  // namespace quest::data
