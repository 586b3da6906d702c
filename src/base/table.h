#pragma once

// A table as data: drawn as text and Markdown by src/terminal, as HTML by src/report.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quest::base {

struct Cell {
  std::string text;
  std::optional<double> value;  // present: sorted as a number

  Cell(std::string cell_text) : text(std::move(cell_text)) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* cell_text) : text(cell_text) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string cell_text, double number) : text(std::move(cell_text)), value(number) {}
};

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::right;

  Column(std::string column_title, Align column_align = Align::right)  // NOLINT(google-explicit-constructor)
      : title(std::move(column_title)), align(column_align) {}
  Column(const char* column_title, Align column_align = Align::right)  // NOLINT(google-explicit-constructor)
      : title(column_title), align(column_align) {}
};

struct Table {
  std::string caption{};
  std::vector<Column> columns{};
  std::vector<std::vector<Cell>> rows{};    // the first cell heads its row
  std::vector<std::size_t> rules_before{};  // rows that a line parts from those above; one more: a line at the end

  // Throws as check() does.
  void add_row(std::vector<Cell> cells);
  void add_rule() { rules_before.push_back(rows.size()); }

  [[nodiscard]] bool has_rule_before(std::size_t row) const;
};

// What draws a table asks this first. Throws std::invalid_argument for a row with another number of cells than columns.
void check(const Table& table);

}  // namespace quest::base
