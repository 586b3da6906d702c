#include "paper/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace quest::paper {
namespace {

TEST(NumberText, ReadsWhatThePaperPrints) {
  EXPECT_EQ(number_of("73.36").value, 73.36);
  EXPECT_FALSE(number_of("73.36").spread);
  EXPECT_EQ(number_of("72.65 ± 0.10").value, 72.65);
  EXPECT_EQ(number_of("72.65 ± 0.10").spread, 0.10);
  EXPECT_EQ(number_of("72.65 ± 0.10").text, "72.65 ± 0.10");
  EXPECT_EQ(number_of("~0").value, 0.0);
  EXPECT_EQ(number_of("-1.5").value, -1.5);
  EXPECT_EQ(number_of("1e-5").value, 1e-5);
}

TEST(NumberText, LeavesWordsWords) {
  for (const char* text : {"crashed", "", "–", "4 of 5", "inf", "nan", "0x10", "423,717", "1.5 ±", "1.5 ± x", "± 0.1",
                           "1.5 ± -0.1", "1.5±0.1", "23s", "~", "1.5.2"}) {
    EXPECT_FALSE(number_of(text).value) << text;
    EXPECT_FALSE(number_of(text).spread) << text;
    EXPECT_EQ(number_of(text).text, text);
  }
}

TEST(NumberText, IsFixedAndHasNoMinusBeforeZero) {
  EXPECT_EQ(fixed(72.654, 2), "72.65");
  EXPECT_EQ(fixed(72.656, 1), "72.7");
  EXPECT_EQ(fixed(58.4, 0), "58");
  EXPECT_EQ(fixed(-0.001, 2), "0.00");
  EXPECT_EQ(fixed(-0.0, 0), "0");
  EXPECT_EQ(fixed(-0.01, 2), "-0.01");
  EXPECT_EQ(fixed(1e20, 1), "100000000000000000000.0");
  EXPECT_EQ(fixed(std::numeric_limits<double>::max(), 12).size(), 309U + 1U + 12U);
}

TEST(NumberText, ValuesThatMeanTheSameHaveOneText) {
  for (const char* text : {"0.01", "1e-2", "0.010", "1.0e-2"}) EXPECT_EQ(canonical_value(text), "0.01") << text;
  for (const char* text : {"1", "1.0", "1e0", "10e-1"}) EXPECT_EQ(canonical_value(text), "1") << text;
  EXPECT_EQ(canonical_value("0.0"), "0");
  EXPECT_EQ(canonical_value("-0.0"), "0");
  for (const char* text : {"true", "class_token", "", "[1, 2]", "1 2", "inf"}) EXPECT_EQ(canonical_value(text), text);
}

}  // namespace
}  // namespace quest::paper
