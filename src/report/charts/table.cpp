#include "report/charts/table.h"

#include <algorithm>
#include <stdexcept>

#include "report/charts/markup.h"

namespace quest::report {
namespace {

// A column of numbers may hold a few words, such as "–".
bool is_numeric(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [column](const auto& row) { return row[column].value.has_value(); });
}

std::string cell_html(const Cell& cell, bool heads_row, bool numeric) {
  const std::string kind = numeric ? "number" : "words";
  const std::string key = cell.value ? number(*cell.value, 9) : "";
  const std::string text = escaped(cell.text);
  if (heads_row) return element("th", {{"scope", "row"}, {"class", kind}, {"data-key", key}}, text);
  return element("td", {{"class", kind}, {"data-key", key}}, text);
}

}  // namespace

std::string table_html(const Table& table) {
  for (const auto& row : table.rows) {
    if (row.size() != table.columns.size()) {
      throw std::invalid_argument("a row of \"" + table.caption + "\" has " + std::to_string(table.columns.size()) +
                                  " cells, got " + std::to_string(row.size()));
    }
  }
  std::string head;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    head += element("th", {{"scope", "col"}, {"class", is_numeric(table, i) ? "number" : "words"}},
                    escaped(table.columns[i]));
  }
  std::string body;
  for (const auto& row : table.rows) {
    std::string cells;
    for (std::size_t i = 0; i < row.size(); ++i) cells += cell_html(row[i], i == 0, is_numeric(table, i));
    body += element("tr", {}, cells) + "\n";
  }
  const std::string content = element("caption", {}, escaped(table.caption)) +
                              element("thead", {}, element("tr", {}, head)) + "\n" + element("tbody", {}, body);
  // Wider than a phone: the table scrolls inside its frame, which the keyboard can reach.
  return element("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", table.caption}},
                 element("table", {}, content)) +
         "\n";
}

}  // namespace quest::report
