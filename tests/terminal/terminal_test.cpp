#include "terminal/terminal.h"

#include <gtest/gtest.h>

#include <array>

namespace quest::terminal {
namespace {

constexpr terminal::TerminalStyle kPlain{};
constexpr terminal::TerminalStyle kRich{.color = true, .unicode = true};

TEST(TerminalStyle, PipesAndDumbTerminalsArePlain) {
  for (const terminal::TerminalEnvironment& environment :
       {terminal::TerminalEnvironment{.is_terminal = false, .term = "xterm", .locale = "en_US.UTF-8"},
        terminal::TerminalEnvironment{.is_terminal = true, .term = "dumb", .locale = "en_US.UTF-8"}}) {
    EXPECT_FALSE(terminal::style_for(environment).color);
    EXPECT_FALSE(terminal::style_for(environment).unicode);
  }
}

TEST(TerminalStyle, NoColorKeepsTheBlocks) {
  const auto style = terminal::style_for({.is_terminal = true, .term = "xterm", .no_color = "1", .locale = "C.UTF-8"});
  EXPECT_FALSE(style.color);
  EXPECT_TRUE(style.unicode);
}

TEST(TerminalStyle, AnotherCharacterSetHasNoBlocks) {
  EXPECT_FALSE(terminal::style_for({.is_terminal = true, .locale = "de_DE.ISO-8859-1"}).unicode);
  EXPECT_FALSE(terminal::style_for({.is_terminal = true, .locale = "C"}).unicode);
  EXPECT_TRUE(terminal::style_for({.is_terminal = true, .locale = "sv_SE.utf8"}).unicode);
  EXPECT_TRUE(terminal::style_for({.is_terminal = true}).unicode);
}

TEST(Bar, HasTheSameWidthForEveryFraction) {
  EXPECT_EQ(terminal::bar(0.5, 4, kPlain), "##  ");
  EXPECT_EQ(terminal::bar(-1.0, 4, kPlain), "    ");
  EXPECT_EQ(terminal::bar(2.0, 4, kPlain), "####");
  EXPECT_EQ(terminal::bar(0.625, 4, kRich), "██▌ ");
  EXPECT_EQ(terminal::bar(1.0, 4, kRich), "████");
  EXPECT_EQ(terminal::bar(0.0, 2, kRich), "  ");
}

TEST(Sparkline, DrawsOneCharacterPerValue) {
  EXPECT_EQ(terminal::sparkline(std::array{0.0F, 0.5F, 1.0F, 3.0F}, 1.0F, kRich), " ▄██");
  EXPECT_EQ(terminal::sparkline(std::array{0.0F, 0.5F, 1.0F}, 1.0F, kPlain), " -#");
}

TEST(Paint, ColoursOnlyWhereTheStyleAllows) {
  EXPECT_EQ(terminal::paint("x", terminal::Color::red, kPlain), "x");
  EXPECT_EQ(terminal::paint("x", terminal::Color::red, kRich), "\033[31mx\033[0m");
  EXPECT_EQ(terminal::paint("x", terminal::Color::plain, kRich), "x");
}

}  // namespace
}  // namespace quest::terminal
