#include "terminal/curve.h"

#include <gtest/gtest.h>

#include "terminal/table.h"

namespace quest::terminal {
namespace {

constexpr terminal::TerminalStyle kPlain{};
constexpr terminal::TerminalStyle kRich{.color = true, .unicode = true};

TEST(Curve, StarsWhereThereIsNoUnicode) {
  const terminal::CurveAxes axes{.title = "rate", .left = "a", .right = "b", .columns = 3, .rows = 3};
  EXPECT_EQ(terminal::curve([](double x) { return 2.0 * x; }, axes, kPlain),
            "      rate\n"
            "2.00 |  *\n"
            "     | *\n"
            "   0 |*\n"
            "     +---\n"
            "      a b\n");
}

TEST(Curve, BrailleHasEightDotsACharacter) {
  const terminal::CurveAxes axes{.title = "rate", .left = "0", .right = "9", .columns = 4, .rows = 2};
  EXPECT_EQ(terminal::curve([](double x) { return 1.0 - x; }, axes, kRich),
            "      rate\n"
            "1.00 │⠑⢄\n"
            "   0 │  ⠑⢄\n"
            "     └────\n"
            "      0  9\n");
}

TEST(Curve, ASteepStepHasNoHoles) {
  const terminal::CurveAxes axes{.title = "", .left = "", .right = "", .columns = 2, .rows = 3};
  EXPECT_EQ(terminal::curve([](double x) { return x < 0.5 ? 0.0 : 1.0; }, axes, kPlain),
            "      \n1.00 | *\n     | *\n   0 |*\n     +--\n        \n");
}

TEST(Curve, AConstantAndANegativeFunctionAreDrawn) {
  const terminal::CurveAxes axes{.title = "t", .left = "l", .right = "r", .columns = 3, .rows = 2};
  EXPECT_EQ(terminal::curve([](double) { return 0.0; }, axes, kPlain), "   t\n0 |\n0 |***\n  +---\n   l r\n");
  EXPECT_EQ(terminal::curve([](double) { return 0.5; }, axes, kPlain),
            "       t\n0.500 |***\n    0 |\n      +---\n       l r\n");
}

}  // namespace
}  // namespace quest::terminal
