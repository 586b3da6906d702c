#include "data/formats/ts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/formats/format_error.h"
#include "data/formats/ts_preparation.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::string reason(const std::string& content) {
  return message_of([&] { static_cast<void>(parse_ts(content)); });
}

TEST(Ts, ReadsHeaderAndCases) {
  const auto file = parse_ts(
      "# a comment with a byte that is no UTF-8: \x96\n@problemName Gestures\r\n@timeStamps false\n@Dimensions 2\n"
      "@equalLength false\n@classLabel true up  down\n\n@data\n"
      "1,-2.5e3, +3 :4,5,6:up\r\n?:0.5:down\n\n# the end\n7,NaN:8,9:up");
  EXPECT_EQ(file.name, "Gestures");
  EXPECT_EQ(file.dimensions, 2U);
  ASSERT_EQ(file.cases.size(), 3U);
  EXPECT_EQ(file.cases[0].values, (std::vector<double>{1, -2500, 3, 4, 5, 6}));
  EXPECT_EQ(file.cases[0].length, 3U);
  EXPECT_EQ(file.cases[0].label, "up");
  EXPECT_TRUE(std::isnan(file.cases[1].values[0]));
  EXPECT_EQ(file.cases[1].values[1], 0.5);
  EXPECT_EQ(file.cases[1].label, "down");
  EXPECT_TRUE(std::isnan(file.cases[2].values[1]));
}

TEST(Ts, SaysWhichLineIsWrongAndWhy) {
  const std::string start = "@classLabel true a b\n@data\n1,2:3,4:a\n";
  EXPECT_TRUE(has(reason(""), "line 0: expected @data"));
  EXPECT_TRUE(has(reason("@data\n"), "line 1: expected cases after @data"));
  EXPECT_TRUE(has(reason("1,2:a\n"), "line 1: expected a comment (#), a tag (@) or @data before the first case"));
  EXPECT_TRUE(has(reason("\n@timeStamps TRUE\n"), "line 2: expected series without time stamps"));
  EXPECT_TRUE(has(reason("@targetLabel true\n"), "targets of a regression"));
  EXPECT_TRUE(has(reason("@classLabel false\n"), "found no classes"));
  EXPECT_TRUE(has(reason("@dimensions -1\n"), "expected a number of dimensions above 0, found \"-1\""));
  EXPECT_TRUE(has(reason(start + "1,2\n"), "line 4: expected dimensions and a class"));
  EXPECT_TRUE(
      has(reason(start + "1,2:3,4\n"), "line 4: expected the name of a class after the last \":\", found \"3,4\""));
  EXPECT_TRUE(has(reason(start + "1,2:3,4:\n"), "line 4: expected the name of a class"));
  EXPECT_TRUE(
      has(reason(start + "1,2:3,4:c\n"), "line 4: expected one of the classes that @classLabel names, found \"c\""));
  EXPECT_TRUE(has(reason(start + "1,2:3:a\n"), "line 4: expected dimensions of the same length"));
  EXPECT_TRUE(has(reason(start + "1,2:a\n"), "line 4: expected 2 dimensions, as in the first case, found 1"));
  EXPECT_TRUE(has(reason("@dimensions 3\n" + start), "line 4: expected 3 dimensions, as @dimensions says, found 2"));
  EXPECT_TRUE(has(reason(start + "1,x:3,4:a\n"), "line 4: expected a finite number or ?, found \"x\""));
  EXPECT_TRUE(has(reason(start + "1,:3,4:a\n"), "found \"\""));
  EXPECT_TRUE(has(reason(start + ":3,4:a\n"), "found \"\""));
  EXPECT_TRUE(has(reason(start + "1,2e999:3,4:a\n"), "found \"2e999\""));
  EXPECT_TRUE(has(reason(start + "1,inf:3,4:a\n"), "found \"inf\""));
  EXPECT_TRUE(has(reason(start + "1,2;5:3,4:a\n"), "found \"2;5\""));
}

TsFile file_of(std::vector<TsCase> cases, std::size_t dimensions) {
  return {.dimensions = dimensions, .cases = std::move(cases)};
}

TEST(TsPreparation, FillsMissingValuesAlongLines) {
  auto file = file_of({{.values = {kMissing, 1, kMissing, kMissing, 7, kMissing, 5, 5, 5, 5, 5, 5}, .length = 6}}, 2);
  fill_missing(file);
  EXPECT_EQ(file.cases[0].values, (std::vector<double>{1, 1, 3, 5, 7, 7, 5, 5, 5, 5, 5, 5}));
  auto nothing = file_of({{.values = {1, 2}, .length = 1}, {.values = {1, kMissing}, .length = 1}}, 2);
  EXPECT_TRUE(has(message_of([&] { fill_missing(nothing); }), "case 2: expected at least one value in dimension 2"));
}

TEST(TsPreparation, StandardizesOverAllStepsOfAllCases) {
  auto file = file_of({{.values = {1, 2, 10, 10}, .length = 2}, {.values = {3, 4, 5, 10, 10, 10}, .length = 3}}, 2);
  standardize(file);
  const double unit = std::sqrt(2.5);  // of 1 to 5, with n - 1
  EXPECT_NEAR(file.cases[0].values[0], -2.0 / unit, 1e-15);
  EXPECT_NEAR(file.cases[1].values[2], 2.0 / unit, 1e-15);
  EXPECT_EQ(file.cases[1].values[3], 0.0) << "a dimension that never changes";
}

TEST(TsPreparation, NormalizesCases) {
  auto file = file_of({{.values = {1, 3, 0, 8}, .length = 2}}, 2);
  normalize_cases(file);
  // Without their means over the steps -1, 1 and -4, 4; each step's two values differ from their mean by 1.5.
  const double unit = std::sqrt(2.25 + 1e-5);
  EXPECT_NEAR(file.cases[0].values[0], -1.0 / unit, 1e-15);
  EXPECT_NEAR(file.cases[0].values[3], 4.0 / unit, 1e-15);
}

}  // namespace
}  // namespace quest::data
