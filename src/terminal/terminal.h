#pragma once

// What the output can show, and the few things drawn with it.

#include <span>
#include <string>
#include <string_view>

namespace quest::terminal {

struct TerminalStyle {
  bool color = false;    // ANSI colours
  bool unicode = false;  // block characters; '#' otherwise
};

// The environment that decides; a value that is not set is empty.
struct TerminalEnvironment {
  bool is_terminal = false;
  std::string_view term{};
  std::string_view no_color{};
  std::string_view locale{};  // LC_ALL, LC_CTYPE or LANG, the first that is set
};

[[nodiscard]] TerminalStyle style_for(const TerminalEnvironment& environment);

[[nodiscard]] TerminalStyle standard_output_style();
[[nodiscard]] bool standard_error_is_terminal();

enum class Color { plain, bold, dim, red, green };

[[nodiscard]] std::string paint(const std::string& text, Color color, const TerminalStyle& style);

// A bar of `cells` characters for a fraction from 0 to 1, padded with spaces to its full width.
[[nodiscard]] std::string bar(double fraction, int cells, const TerminalStyle& style);

// One character per value, its height relative to `full`.
[[nodiscard]] std::string sparkline(std::span<const float> values, float full, const TerminalStyle& style);

}  // namespace quest::terminal
