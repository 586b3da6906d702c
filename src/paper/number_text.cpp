#include "paper/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace quest::paper {
namespace {

constexpr double kWholeBelow = 1e15;  // doubles hold every whole number below

std::optional<double> plain_number(std::string_view text) {
  // from_chars would also take "inf" and "nan".
  if (text.find_first_not_of("+-.eE0123456789") != std::string_view::npos) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Number number_of(const std::string& text) {
  Number number{.text = text, .value = std::nullopt, .spread = std::nullopt};
  std::string_view rest = text;
  if (rest.starts_with('~')) rest.remove_prefix(1);
  const auto middle = rest.find(kPlusMinus);
  if (middle == std::string_view::npos) {
    number.value = plain_number(rest);
    return number;
  }
  const auto value = plain_number(rest.substr(0, middle));
  const auto spread = plain_number(rest.substr(middle + kPlusMinus.size()));
  if (!value || !spread || *spread < 0.0) return number;
  number.value = value;
  number.spread = spread;
  return number;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  std::string text(buffer.data());
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.starts_with('-') ? text.substr(1) : text;
}

std::string canonical_value(const std::string& value) {
  const auto number = plain_number(value);
  if (!number) return value;
  if (std::abs(*number) < kWholeBelow && *number == std::floor(*number)) {
    return std::to_string(static_cast<std::int64_t>(*number));
  }
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number).ptr};
}

}  // namespace quest::paper
