#include "report/charts/plot_frame.h"

#include <algorithm>

#include "report/charts/markup.h"
#include "report/charts/text_fit.h"

namespace quest::report {
namespace {

constexpr int kTicks = 5;
constexpr int kMostDecimals = 3;  // a longer label would leave its place
constexpr double kHeight = 216.0;
constexpr double kTitleWidth = 0.8 * (kPanelWidth - kPlotX.from);  // its letters are larger
constexpr double kNextLine = 13.0;

struct Tick {
  double value = 0.0;
  std::string label;
};

std::vector<Tick> ticks_of(const Axis& axis) {
  std::vector<Tick> result;
  if (axis.spacing == Spacing::logarithmic) {
    for (const double value : logarithmic_ticks(axis.range)) result.push_back({value, compact(value)});
    return result;
  }
  const auto values = ticks({axis.range.from / axis.unit, axis.range.to / axis.unit}, kTicks);
  const int decimals = tick_decimals(values);
  for (const double value : values) {
    result.push_back({value * axis.unit, decimals > kMostDecimals ? compact(value) : number(value, decimals)});
  }
  return result;
}

std::string x_tick(double x, double lower, const std::string& label) {
  return line(x, kPlotY.from, x, kPlotY.from + 4.0, "axis") +
         text_at(x, kPlotY.from + 16.0 + lower, Anchor::middle, "faint", label);
}

// Names that are too long for one line take turns in two, where no title stands, and are cut where even that is too
// little.
std::string x_names(const Axis& axis, const Scale& scale) {
  const double room = scale(1.0) - scale(0.0);
  const bool in_turns = axis.title.empty() && text_width(axis.names) > room;
  std::string drawing;
  for (std::size_t i = 0; i < axis.names.size(); ++i) {
    const double x = scale(static_cast<double>(i));
    const double width = std::min((in_turns ? 2.0 : 1.0) * room, 2.0 * std::min(x, kPanelWidth - x));
    drawing += x_tick(x, in_turns && i % 2 == 1 ? kNextLine : 0.0, shortened(axis.names[i], width));
  }
  return drawing;
}

std::string x_ticks(const Axis& axis, const Scale& scale) {
  if (!axis.names.empty()) return x_names(axis, scale);
  std::string drawing;
  for (const Tick& tick : ticks_of(axis)) drawing += x_tick(scale(tick.value), 0.0, tick.label);
  return drawing;
}

std::string y_ticks(const Axis& axis, const Scale& scale) {
  std::string drawing;
  for (const Tick& tick : ticks_of(axis)) {
    const double y = scale(tick.value);
    drawing += line(kPlotX.from, y, kPlotX.to, y, "grid");
    drawing += text_at(kPlotX.from - 6.0, y + 4.0, Anchor::end, "faint", tick.label);
  }
  return drawing;
}

}  // namespace

PlotFrame::PlotFrame(const std::string& title, const Axis& x, const Axis& y)
    : x_(x.range, kPlotX, x.spacing), y_(y.range, kPlotY, y.spacing) {
  const double middle_x = (kPlotX.from + kPlotX.to) / 2.0;
  const double middle_y = (kPlotY.from + kPlotY.to) / 2.0;
  drawing_ = text_at(kPlotX.from, 18.0, Anchor::start, "title", shortened(title, kTitleWidth)) + y_ticks(y, y_) +
             x_ticks(x, x_) + line(kPlotX.from, kPlotY.from, kPlotX.to, kPlotY.from, "axis") +
             text_at(middle_x, kHeight - 6.0, Anchor::middle, "faint", x.title) +
             element("g", {{"transform", "rotate(-90 12 " + number(middle_y) + ")"}},
                     text_at(12.0, middle_y, Anchor::middle, "faint", y.title)) +
             "\n";
}

double PlotFrame::height() { return kHeight; }

std::string PlotFrame::target(double from_x, double to_x) {
  return rect(from_x, kPlotY.to, to_x - from_x, kPlotY.from - kPlotY.to, "target");
}

std::string PlotFrame::note(const std::string& text) {
  return text_at((kPlotX.from + kPlotX.to) / 2.0, (kPlotY.from + kPlotY.to) / 2.0, Anchor::middle, "faint", text);
}

}  // namespace quest::report
