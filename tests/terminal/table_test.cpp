#include "terminal/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace quest::terminal {
namespace {

base::Table small_table() {
  base::Table table{.columns = {{"name", base::Align::left}, "ms"}};
  table.add_row({"a", "1.5"});
  table.add_rule();
  table.add_row({"långt", {"10", 10.0}});
  return table;
}

TEST(Table, AlignsByDisplayWidthAndDropsTrailingSpace) {
  EXPECT_EQ(text_of(small_table()),
            "name    ms\n"
            "-----  ---\n"
            "a      1.5\n"
            "-----  ---\n"
            "långt   10\n");
}

TEST(Table, MarkdownHasNoRules) {
  EXPECT_EQ(markdown_of(small_table()),
            "| name | ms |\n"
            "| --- | ---: |\n"
            "| a | 1.5 |\n"
            "| långt | 10 |\n");
}

TEST(Table, RenderChoosesTheStyle) {
  EXPECT_EQ(render(small_table(), TableStyle::text), text_of(small_table()));
  EXPECT_EQ(render(small_table(), TableStyle::markdown), markdown_of(small_table()));
}

TEST(Table, CaptionStandsAbove) {
  auto table = small_table();
  table.caption = "times";
  EXPECT_EQ(text_of(table), "times\n\n" + text_of(small_table()));
  EXPECT_EQ(markdown_of(table), "times\n\n" + markdown_of(small_table()));
}

TEST(Table, RulesStandWhereTheyWereAddedAlsoAtTheEnds) {
  base::Table table{.columns = {"n"}};
  table.add_rule();
  table.add_row({"1"});
  table.add_rule();
  EXPECT_EQ(text_of(table), "n\n-\n-\n1\n-\n");
}

TEST(Table, WithoutRowsIsItsHead) {
  EXPECT_EQ(text_of({.columns = {{"name", base::Align::left}, "ms"}}), "name  ms\n----  --\n");
}

TEST(Table, RefusesRowsOfTheWrongLength) {
  auto table = small_table();
  table.rows.push_back({"only one"});
  EXPECT_THROW(static_cast<void>(text_of(table)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(markdown_of(table)), std::invalid_argument);
}

TEST(Numbers, LoseTheMinusOfARoundedZero) {
  EXPECT_EQ(terminal::fixed(-0.001, 2), "0.00");
  EXPECT_EQ(terminal::fixed(-0.006, 2), "-0.01");
  EXPECT_EQ(terminal::fixed(-INFINITY, 2), "-inf");
}

TEST(Numbers, KeepThreeDigits) {
  EXPECT_EQ(terminal::three_digits(0.01234), "0.0123");
  EXPECT_EQ(terminal::three_digits(0.5), "0.500");
  EXPECT_EQ(terminal::three_digits(1.234), "1.23");
  EXPECT_EQ(terminal::three_digits(12.34), "12.3");
  EXPECT_EQ(terminal::three_digits(123.4), "123");
  EXPECT_EQ(terminal::three_digits(1234.0), "1234");
  EXPECT_EQ(terminal::three_digits(0.0), "0");
}

}  // namespace
}  // namespace quest::terminal
