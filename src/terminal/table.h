#pragma once

// A small text table: aligned columns for terminals, or Markdown.

#include <string>
#include <vector>

namespace quest::terminal {

enum class Align { left, right };
enum class TableStyle { text, markdown };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns);

  // One cell per column; throws std::invalid_argument otherwise.
  void add_row(std::vector<std::string> cells);
  void add_rule();  // a line between groups of rows; Markdown has none

  [[nodiscard]] std::string render(TableStyle style) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

// Columns a terminal uses for UTF-8 text without wide characters.
[[nodiscard]] std::size_t display_width(const std::string& text);

[[nodiscard]] std::string pad(const std::string& text, std::size_t width, Align align);

// 1.234 -> "1.23"; never scientific, and no minus before a zero.
[[nodiscard]] std::string fixed(double value, int decimals);

// Three significant digits at any size: 0.0123, 1.23, 12.3, 123, 1234.
[[nodiscard]] std::string three_digits(double value);

}  // namespace quest::terminal
