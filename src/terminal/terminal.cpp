#include "terminal/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace quest::terminal {
namespace {

constexpr int kEighths = 8;
constexpr std::array<std::string_view, kEighths + 1> kHorizontal = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr std::array<std::string_view, kEighths + 1> kVertical = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, kEighths + 1> kVerticalAscii = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};

std::string_view environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

bool names_utf8(std::string_view locale) {
  std::string lower(locale);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

std::string_view escape(Color color) {
  switch (color) {
    case Color::bold:
      return "\033[1m";
    case Color::dim:
      return "\033[2m";
    case Color::red:
      return "\033[31m";
    case Color::green:
      return "\033[32m";
    case Color::plain:
      break;
  }
  return "";
}

std::string repeat(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TerminalStyle style_for(const TerminalEnvironment& environment) {
  const bool capable = environment.is_terminal && environment.term != "dumb";
  return {.color = capable && environment.no_color.empty(),
          .unicode = capable && (environment.locale.empty() || names_utf8(environment.locale))};
}

TerminalStyle standard_output_style() {
  std::string_view locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = environment_value(name);
  }
  return style_for({.is_terminal = isatty(STDOUT_FILENO) == 1,
                    .term = environment_value("TERM"),
                    .no_color = environment_value("NO_COLOR"),
                    .locale = locale});
}

bool standard_error_is_terminal() { return isatty(STDERR_FILENO) == 1; }

std::string paint(const std::string& text, Color color, const TerminalStyle& style) {
  if (!style.color || color == Color::plain) return text;
  return std::string(escape(color)) + text + "\033[0m";
}

std::string bar(double fraction, int cells, const TerminalStyle& style) {
  const double length = std::clamp(fraction, 0.0, 1.0) * cells;
  if (!style.unicode) {
    const int filled = static_cast<int>(std::lround(length));
    return repeat("#", filled) + repeat(" ", cells - filled);
  }
  const int eighths = static_cast<int>(std::lround(length * kEighths));
  const int full = eighths / kEighths;
  std::string text = repeat(kHorizontal.back(), full);
  if (full < cells) text += std::string(kHorizontal[eighths % kEighths]) + repeat(" ", cells - full - 1);
  return text;
}

std::string sparkline(std::span<const float> values, float full, const TerminalStyle& style) {
  const auto& levels = style.unicode ? kVertical : kVerticalAscii;
  std::string text;
  for (const float value : values) {
    const float height = std::clamp(value / full, 0.0F, 1.0F) * kEighths;
    text += levels[static_cast<std::size_t>(std::lround(height))];
  }
  return text;
}

}  // namespace quest::terminal
