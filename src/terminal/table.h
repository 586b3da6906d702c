#pragma once

// A table as text: aligned columns for terminals, or Markdown.

#include <cstddef>
#include <string>

#include "base/table.h"

namespace quest::terminal {

enum class TableStyle { text, markdown };

// Its caption above it, where it has one. All throw std::invalid_argument for a table that base::check refuses.
[[nodiscard]] std::string text_of(const base::Table& table);
[[nodiscard]] std::string markdown_of(const base::Table& table);  // which knows no rules
[[nodiscard]] std::string render(const base::Table& table, TableStyle style);

// Columns a terminal uses for UTF-8 text without wide characters.
[[nodiscard]] std::size_t display_width(const std::string& text);

[[nodiscard]] std::string pad(const std::string& text, std::size_t width, base::Align align);

// 1.234 -> "1.23"; never scientific, and no minus before a zero.
[[nodiscard]] std::string fixed(double value, int decimals);

// Three significant digits at any size: 0.0123, 1.23, 12.3, 123, 1234.
[[nodiscard]] std::string three_digits(double value);

}  // namespace quest::terminal
