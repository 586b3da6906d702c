#include "report/charts/markup.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

namespace quest::report {
namespace {

TEST(Markup, CompactNumbersKeepFourDigits) {
  EXPECT_EQ(compact(0.031249), "0.03125");
  EXPECT_EQ(compact(25.3), "25.3");
  EXPECT_EQ(compact(-1234.56), "-1235");
  EXPECT_EQ(compact(0.0), "0");
  EXPECT_EQ(compact(2.5e-5), "2.5e-5");
  EXPECT_EQ(compact(3.14e12), "3.1e12");
  EXPECT_EQ(compact(NAN), "–");
}

TEST(Markup, TextCannotBecomeMarkup) {
  EXPECT_EQ(escaped("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(escaped("</script><script>"), "&lt;/script&gt;&lt;script&gt;");
  EXPECT_EQ(escaped("one\ntwo"), "one&#10;two");
  EXPECT_EQ(escaped(std::string("a\0b\x1b[0m", 7)), "ab[0m");
  EXPECT_EQ(escaped("Σ – ü"), "Σ – ü");
}

RC_GTEST_PROP(Markup, EscapedTextHasNoDelimiters, (const std::string& text)) {
  RC_ASSERT(escaped(text).find_first_of("<>\"") == std::string::npos);
}

TEST(Markup, AttributesAreEscapedAndContentIsNot) {
  EXPECT_EQ(element("a", {{"href", "#\"x\""}, {"class", "y"}}, "<b></b>"),
            "<a href=\"#&quot;x&quot;\" class=\"y\"><b></b></a>");
}

TEST(Markup, NumbersAreShort) {
  EXPECT_EQ(fixed(42.0), "42.00");
  EXPECT_EQ(number(12.0), "12");
  EXPECT_EQ(number(0.5), "0.5");
  EXPECT_EQ(number(-3.256), "-3.26");
  EXPECT_EQ(number(-0.001), "0");
  EXPECT_EQ(number(0.0005, 6), "0.0005");
  EXPECT_EQ(number(100.0, 0), "100");
  EXPECT_EQ(number(1e21, 0), "1000000000000000000000");
  EXPECT_EQ(number(NAN), "–");
  EXPECT_EQ(number(INFINITY), "–");
}

TEST(Markup, CountsAndShares) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(4500), "4,500");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(percent(0.583), "58\u00a0%");
  EXPECT_EQ(percent(1.0), "100\u00a0%");
}

TEST(Markup, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace quest::report
