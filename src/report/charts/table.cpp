#include "report/charts/table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/charts/markup.h"

namespace quest::report {
namespace {

// A column of numbers may hold a few words, such as "–".
std::vector<std::string> column_kinds(const base::Table& table) {
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool has_values = std::ranges::any_of(table.rows, [i](const auto& row) { return row[i].value.has_value(); });
    kinds.emplace_back(has_values ? "number" : "words");
  }
  return kinds;
}

std::string cell_html(const base::Cell& cell, bool heads_row, const std::string& kind) {
  const std::string key = cell.value && std::isfinite(*cell.value) ? number(*cell.value, 9) : "";
  const std::string text = escaped(cell.text);
  if (heads_row) return element("th", {{"scope", "row"}, {"class", kind}, {"data-key", key}}, text);
  return element("td", {{"class", kind}, {"data-key", key}}, text);
}

// One body per group of rows between rules.
std::string bodies_html(const base::Table& table, const std::vector<std::string>& kinds) {
  std::string bodies;
  std::string rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::string cells;
    for (std::size_t i = 0; i < kinds.size(); ++i) cells += cell_html(table.rows[row][i], i == 0, kinds[i]);
    rows += element("tr", {}, cells) + "\n";
    if (row + 1 < table.rows.size() && !table.has_rule_before(row + 1)) continue;
    bodies += element("tbody", {}, rows);
    rows.clear();
  }
  return bodies;
}

}  // namespace

std::string table_html(const base::Table& table) {
  base::check(table);
  const auto kinds = column_kinds(table);
  std::string head;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    head += element("th", {{"scope", "col"}, {"class", kinds[i]}}, escaped(table.columns[i].title));
  }
  const std::string content = element("caption", {}, escaped(table.caption)) +
                              element("thead", {}, element("tr", {}, head)) + "\n" + bodies_html(table, kinds);
  // Wider than a phone: the table scrolls inside its frame, which the keyboard can reach.
  return element("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", table.caption}},
                 element("table", {}, content)) +
         "\n";
}

base::Cell number_cell(double value) {
  if (!std::isfinite(value)) return "–";
  return {compact(value), value};
}

base::Cell count_cell(std::int64_t count) { return {grouped(count), static_cast<double>(count)}; }

}  // namespace quest::report
