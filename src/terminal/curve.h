#pragma once

// A function drawn as a small curve: braille dots where the terminal has them, stars elsewhere.

#include <functional>
#include <string>

#include "terminal/terminal.h"

namespace quest::terminal {

struct CurveAxes {
  std::string title;
  std::string left;   // what the first column stands for
  std::string right;  // and the last
  int columns = 64;
  int rows = 8;
};

// `value` is asked at positions from 0 to 1. The lower edge is 0, or the smallest value if that is negative.
[[nodiscard]] std::string curve(const std::function<double(double)>& value, const CurveAxes& axes,
                                const TerminalStyle& style);

}  // namespace quest::terminal
