#include "data/formats/text_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace quest::data {

std::vector<std::string_view> fields_of(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  while (!text.empty()) {
    const auto end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) fields.emplace_back();
  }
  return fields;
}

std::int32_t number_below(std::string_view text, std::int64_t end, const char* what) {
  constexpr auto kEnd = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  return static_cast<std::int32_t>(large_number_below(text, std::min(end, kEnd), what));
}

std::int64_t large_number_below(std::string_view text, std::int64_t end, const char* what) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || rest != text.end() || value < 0 || value >= end) {
    throw FormatError("expected " + std::string(what) + " from 0 to " + std::to_string(end - 1) + ", found " +
                      in_quotes(text));
  }
  return value;
}

double finite_number(std::string_view text, const char* what) {
  double value = 0.0;
  const auto [rest, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || rest != text.end() || !std::isfinite(value)) {
    throw FormatError("expected " + std::string(what) + " that is a finite number, found " + in_quotes(text));
  }
  return value;
}

}  // namespace quest::data
