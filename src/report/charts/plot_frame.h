#pragma once

// Title, grid and axes around a plot with a value on each axis.

#include <string>
#include <vector>

#include "report/charts/figure.h"
#include "report/charts/scale.h"

namespace quest::report {

struct Axis {
  std::string title;
  Range range;
  double unit = 1.0;  // what a tick label counts: 0.01 shows 0.5 as 50; only on a linear axis
  Spacing spacing = Spacing::linear;
  std::vector<std::string> names = {};  // of 0, 1, 2, ...: ticks in the place of numbers, of an x axis
};

class PlotFrame {
 public:
  PlotFrame(const std::string& title, const Axis& x, const Axis& y);

  [[nodiscard]] static double height();
  [[nodiscard]] const std::string& drawing() const { return drawing_; }
  [[nodiscard]] const Scale& x() const { return x_; }
  [[nodiscard]] const Scale& y() const { return y_; }

  // The whole height of the plot between two coordinates: something to point at, however small what is drawn there.
  [[nodiscard]] static std::string target(double from_x, double to_x);
  // Words instead of data.
  [[nodiscard]] static std::string note(const std::string& text);

 private:
  Scale x_;
  Scale y_;
  std::string drawing_;
};

// Room for the labels of the y axis, of the x axis, and of the title.
inline constexpr Range kPlotX = {60.0, kPanelWidth - 10.0};
inline constexpr Range kPlotY = {176.0, 30.0};

}  // namespace quest::report
