#include "base/table.h"

#include <algorithm>
#include <stdexcept>

namespace quest::base {
namespace {

void check_row(const Table& table, const std::vector<Cell>& cells) {
  if (cells.size() == table.columns.size()) return;
  const std::string name = table.caption.empty() ? "this table" : "\"" + table.caption + "\"";
  throw std::invalid_argument("a row of " + name + " has " + std::to_string(table.columns.size()) + " cells, got " +
                              std::to_string(cells.size()));
}

}  // namespace

void Table::add_row(std::vector<Cell> cells) {
  check_row(*this, cells);
  rows.push_back(std::move(cells));
}

bool Table::has_rule_before(std::size_t row) const {
  return std::ranges::find(rules_before, row) != rules_before.end();
}

void check(const Table& table) {
  for (const auto& row : table.rows) check_row(table, row);
}

}  // namespace quest::base
