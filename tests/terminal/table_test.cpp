#include "terminal/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace quest::terminal {
namespace {

terminal::Table small_table() {
  terminal::Table table({{"name", terminal::Align::left}, {"ms"}});
  table.add_row({"a", "1.5"});
  table.add_rule();
  table.add_row({"långt", "10"});
  return table;
}

TEST(terminal::Table, AlignsByDisplayWidthAndDropsTrailingSpace) {
  EXPECT_EQ(small_table().render(terminal::TableStyle::text),
            "name    ms\n"
            "-----  ---\n"
            "a      1.5\n"
            "-----  ---\n"
            "långt   10\n");
}

TEST(terminal::Table, MarkdownHasNoRules) {
  EXPECT_EQ(small_table().render(terminal::TableStyle::markdown),
            "| name | ms |\n"
            "| --- | ---: |\n"
            "| a | 1.5 |\n"
            "| långt | 10 |\n");
}

TEST(terminal::Table, RejectsRowsOfTheWrongLength) {
  auto table = small_table();
  EXPECT_THROW(table.add_row({"only one"}), std::invalid_argument);
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
