#pragma once

// A table that the page's script makes sortable.

#include <optional>
#include <string>
#include <vector>

namespace quest::report {

struct Cell {
  std::string text;
  std::optional<double> value;  // present: aligned and sorted as a number

  Cell(std::string cell_text) : text(std::move(cell_text)) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* cell_text) : text(cell_text) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string cell_text, double number) : text(std::move(cell_text)), value(number) {}
};

struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  // the first cell heads its row
};

// Throws std::invalid_argument for a row with more or fewer cells than there are columns.
[[nodiscard]] std::string table_html(const Table& table);

}  // namespace quest::report
