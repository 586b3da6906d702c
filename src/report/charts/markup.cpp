#include "report/charts/markup.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace quest::report {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        // XML allows no other control characters, not even as references.
        if (static_cast<unsigned char>(c) >= ' ' || c == '\t') result += c;
    }
  }
  return result;
}

std::string element(std::string_view name, Attributes attributes, std::string_view content) {
  std::string result = "<" + std::string(name);
  for (const auto& [key, value] : attributes) {
    result += " " + std::string(key) + "=\"" + escaped(value) + "\"";
  }
  return result + ">" + std::string(content) + "</" + std::string(name) + ">";
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "–";
  std::array<char, 400> digits{};  // the largest double has 309 digits before the point
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, decimals).ptr;
  return {digits.data(), end};
}

std::string number(double value, int decimals) {
  std::string text = fixed(value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string compact(double value) {
  constexpr int kDigits = 4;
  const double size = std::abs(value);
  if (size == 0.0 || !std::isfinite(value)) return number(value);
  const int exponent = static_cast<int>(std::floor(std::log10(size)));
  if (exponent >= -3 && exponent < 6) return number(value, std::max(0, kDigits - 1 - exponent));
  return number(value / std::pow(10.0, exponent), 1) + "e" + std::to_string(exponent);
}

std::string grouped(long long value) {
  std::string text = std::to_string(value);
  const int first_digit = value < 0 ? 1 : 0;
  for (int at = static_cast<int>(text.size()) - 3; at > first_digit; at -= 3) text.insert(at, ",");
  return text;
}

std::string percent(double fraction) { return number(100.0 * fraction, 0) + "\u00a0%"; }

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = (group << 8U) | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) result += j <= count ? kDigits[(group >> (18U - 6U * j)) & 63U] : '=';
  }
  return result;
}

}  // namespace quest::report
