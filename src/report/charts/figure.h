#pragma once

// A figure: one or more panels, drawn once as SVG and shown either inside a page, where panels flow with the width of
// the screen, or as a file of its own.

#include <string>
#include <vector>

#include "base/table.h"

namespace quest::report {

inline constexpr double kPanelWidth = 320.0;

struct Panel {
  std::string title;
  std::string summary;  // what a reader who does not see the panel should know
  double height = 0.0;
  std::string drawing;  // SVG, kPanelWidth wide
};

struct LegendEntry {
  std::string name;
  int series = 0;
};

struct Figure {
  std::string id;  // anchor and file name, without an ending
  std::string title;
  std::string caption;
  std::vector<LegendEntry> legend;
  std::vector<Panel> panels;
  base::Table values;  // the numbers behind the drawing
};

[[nodiscard]] std::string figure_html(const Figure& figure);
[[nodiscard]] std::string figure_svg(const Figure& figure);

// A part of a drawing that tells its value when pointed at or focused.
[[nodiscard]] std::string mark(const std::string& css_class, const std::string& label, const std::string& drawing);

enum class Anchor { start, middle, end };

[[nodiscard]] std::string text_at(double x, double y, Anchor anchor, const std::string& css_class,
                                  const std::string& text);
[[nodiscard]] std::string rect(double x, double y, double width, double height, const std::string& css_class = "");
[[nodiscard]] std::string dot(double x, double y);
[[nodiscard]] std::string line(double x1, double y1, double x2, double y2, const std::string& css_class);

}  // namespace quest::report
