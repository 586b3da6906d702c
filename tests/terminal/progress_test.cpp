#include "terminal/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace quest::terminal {
namespace {

TEST(Progress, PipedOutputGetsAPlainLineEveryTwoSeconds) {
  std::ostringstream stream;
  double now = 100.0;
  terminal::Progress progress(stream, false, [&] { return now; });
  now += 1.0;
  progress.update(0.1, "first");
  EXPECT_EQ(stream.str(), "");
  now += 2.0;
  progress.update(0.25, "second");
  progress.update(0.26, "too soon");
  EXPECT_EQ(stream.str(), "25 %, about 9 s left: second\n");
}

TEST(Progress, TerminalLineIsRedrawnAndTakenAway) {
  std::ostringstream stream;
  double now = 0.0;
  {
    terminal::Progress progress(stream, true, [&] { return now; });
    now = 1.0;
    progress.update(0.5, "half");
    EXPECT_EQ(stream.str(), "\r\033[K\033[?7l[############............] 50 %, about 1 s left: half\033[?7h");
  }
  EXPECT_TRUE(stream.str().ends_with("half\033[?7h\r\033[K"));
}

TEST(Progress, WhatAnEarlierCommandDidSaysNothingAboutTheSpeed) {
  std::ostringstream stream;
  double now = 0.0;
  terminal::Progress progress(stream, false, [&] { return now; }, 5.0);
  progress.start_at(0.5);
  now = 3.0;
  progress.update(0.55, "too soon");
  now = 6.0;
  progress.update(0.75, "later");
  EXPECT_EQ(stream.str(), "75 %, about 6 s left: later\n");
}

TEST(Progress, NothingIsErasedWhenNothingWasDrawn) {
  std::ostringstream stream;
  {
    const terminal::Progress progress(stream, true);
  }
  EXPECT_EQ(stream.str(), "");
}

TEST(Duration, RoundsUpAndSplitsMinutes) {
  EXPECT_EQ(terminal::duration_text(0.2), "1 s");
  EXPECT_EQ(terminal::duration_text(59.0), "59 s");
  EXPECT_EQ(terminal::duration_text(60.5), "1 min 1 s");
  EXPECT_EQ(terminal::duration_text(3661.0), "1 h 2 min");
  EXPECT_EQ(terminal::duration_text(7200.0), "2 h 0 min");
}

}  // namespace
}  // namespace quest::terminal
