#include "base/table.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace quest::base {
namespace {

std::string refusal_of(Table table, std::vector<Cell> cells) {
  try {
    table.add_row(std::move(cells));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Table, KeepsRowsWithACellPerColumn) {
  Table table{.columns = {{"name", Align::left}, "ms"}};
  table.add_row({"a", {"1.50", 1.5}});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][0].text, "a");
  EXPECT_FALSE(table.rows[0][0].value);
  EXPECT_EQ(table.rows[0][1].value, 1.5);
  EXPECT_EQ(table.columns[1].align, Align::right);
}

TEST(Table, RefusesRowsOfTheWrongLengthAndKeepsWhatItHad) {
  const Table unnamed{.columns = {"name", "ms"}};
  EXPECT_EQ(refusal_of(unnamed, {"only one"}), "a row of this table has 2 cells, got 1");
  EXPECT_EQ(refusal_of(unnamed, {"1", "2", "3"}), "a row of this table has 2 cells, got 3");
  EXPECT_EQ(refusal_of({.caption = "times", .columns = {"ms"}}, {}), "a row of \"times\" has 1 cells, got 0");
  Table table = unnamed;
  EXPECT_THROW(table.add_row({"1"}), std::invalid_argument);
  EXPECT_TRUE(table.rows.empty());
}

TEST(Table, ChecksRowsThatWereNotAdded) {
  Table table{.columns = {"name", "ms"}, .rows = {{"a", "1"}}};
  EXPECT_NO_THROW(check(table));
  table.rows.push_back({"b"});
  EXPECT_THROW(check(table), std::invalid_argument);
}

TEST(Table, RulesPartTheRowsAboveFromThoseBelow) {
  Table table{.columns = {"name"}};
  table.add_row({"a"});
  table.add_rule();
  table.add_row({"b"});
  EXPECT_FALSE(table.has_rule_before(0));
  EXPECT_TRUE(table.has_rule_before(1));
  EXPECT_FALSE(table.has_rule_before(2));
}

}  // namespace
}  // namespace quest::base
