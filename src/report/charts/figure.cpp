#include "report/charts/figure.h"

#include <algorithm>

#include "report/charts/markup.h"
#include "report/charts/palette.h"
#include "report/charts/table.h"
#include "report/charts/text_fit.h"

namespace quest::report {
namespace {

constexpr std::size_t kMostColumns = 3;
constexpr double kGap = 24.0;
constexpr double kMargin = 16.0;
constexpr double kHeadingHeight = 30.0;
constexpr double kLegendHeight = 24.0;
constexpr double kSwatchWidth = 28.0;
constexpr double kDotRadius = 2.5;

const char* anchor_name(Anchor anchor) {
  if (anchor == Anchor::start) return "start";
  return anchor == Anchor::middle ? "middle" : "end";
}

std::string series_class(int series) { return "series" + std::to_string(series); }

std::string swatch(int series, double x, double y) {
  return element("g", {{"class", series_class(series)}},
                 rect(x, y - 5.0, kSwatchWidth, 10.0, "band") + line(x, y, x + kSwatchWidth, y, "line"));
}

std::string legend_html(const std::vector<LegendEntry>& legend) {
  if (legend.empty()) return "";
  std::string items;
  for (const auto& entry : legend) {
    items += element(
        "li", {},
        element("svg", {{"width", "28"}, {"height", "12"}, {"aria-hidden", "true"}}, swatch(entry.series, 0.0, 6.0)) +
            escaped(entry.name));
  }
  return element("ul", {{"class", "legend"}}, items) + "\n";
}

std::string legend_svg(const std::vector<LegendEntry>& legend, double y) {
  std::string drawing;
  double x = kMargin;
  for (const auto& entry : legend) {
    drawing += swatch(entry.series, x, y);
    drawing += text_at(x + kSwatchWidth + 6.0, y + 4.0, Anchor::start, "", entry.name);
    x += kSwatchWidth + text_width(entry.name) + kGap;
  }
  return drawing;
}

std::string panel_html(const Panel& panel) {
  return element("svg",
                 {{"class", "panel"},
                  {"viewBox", "0 0 " + number(kPanelWidth) + " " + number(panel.height)},
                  {"role", "group"},
                  {"aria-label", panel.title + ". " + panel.summary}},
                 panel.drawing) +
         "\n";
}

}  // namespace

std::string figure_html(const Figure& figure) {
  std::string panels;
  for (const Panel& panel : figure.panels) panels += panel_html(panel);
  const std::string caption = element("h3", {}, escaped(figure.title)) + element("p", {}, escaped(figure.caption));
  const std::string download = element("a",
                                       {{"class", "download"},
                                        {"download", figure.id + ".svg"},
                                        {"href", "data:image/svg+xml;base64," + base64(figure_svg(figure))},
                                        {"aria-label", "Download SVG: " + figure.title}},
                                       "Download SVG");
  const std::string values =
      element("details", {}, element("summary", {}, "Values as a table") + table_html(figure.values));
  return element("figure", {{"class", "figure"}, {"id", figure.id}},
                 element("figcaption", {}, caption) + "\n" + legend_html(figure.legend) +
                     element("div", {{"class", "panels"}}, panels) + "\n" +
                     element("div", {{"class", "actions"}}, download + values)) +
         "\n";
}

std::string figure_svg(const Figure& figure) {
  const std::size_t columns = std::clamp<std::size_t>(figure.panels.size(), 1, kMostColumns);
  std::string drawing = text_at(kMargin, kMargin + 14.0, Anchor::start, "title heading", figure.title);
  double y = kMargin + kHeadingHeight;
  if (!figure.legend.empty()) {
    drawing += legend_svg(figure.legend, y + 4.0);
    y += kLegendHeight;
  }
  for (std::size_t first = 0; first < figure.panels.size(); first += columns) {
    double row_height = 0.0;
    for (std::size_t i = first; i < std::min(first + columns, figure.panels.size()); ++i) {
      const double x = kMargin + static_cast<double>(i - first) * (kPanelWidth + kGap);
      drawing +=
          element("g", {{"transform", "translate(" + number(x) + " " + number(y) + ")"}}, figure.panels[i].drawing) +
          "\n";
      row_height = std::max(row_height, figure.panels[i].height);
    }
    y += row_height + kGap;
  }
  const double width = 2.0 * kMargin + static_cast<double>(columns) * (kPanelWidth + kGap) - kGap;
  const std::string content =
      element("title", {}, escaped(figure.title)) + element("desc", {}, escaped(figure.caption)) +
      element("style", {}, figure_style(Theme::light)) + rect(0.0, 0.0, width, y, "paper") + "\n" + drawing;
  return element("svg",
                 {{"xmlns", "http://www.w3.org/2000/svg"},
                  {"class", "figure"},
                  {"width", number(width)},
                  {"height", number(y)},
                  {"viewBox", "0 0 " + number(width) + " " + number(y)}},
                 content) +
         "\n";
}

std::string mark(const std::string& css_class, const std::string& label, const std::string& drawing) {
  return element("g", {{"class", "mark " + css_class}, {"role", "img"}, {"aria-label", label}}, drawing) + "\n";
}

std::string text_at(double x, double y, Anchor anchor, const std::string& css_class, const std::string& text) {
  return element("text",
                 {{"x", number(x)}, {"y", number(y)}, {"text-anchor", anchor_name(anchor)}, {"class", css_class}},
                 escaped(text));
}

std::string rect(double x, double y, double width, double height, const std::string& css_class) {
  return element(
      "rect",
      {{"x", number(x)}, {"y", number(y)}, {"width", number(width)}, {"height", number(height)}, {"class", css_class}});
}

std::string dot(double x, double y) {
  return element("circle", {{"cx", number(x)}, {"cy", number(y)}, {"r", number(kDotRadius)}, {"class", "bar"}});
}

std::string line(double x1, double y1, double x2, double y2, const std::string& css_class) {
  return element(
      "line", {{"x1", number(x1)}, {"y1", number(y1)}, {"x2", number(x2)}, {"y2", number(y2)}, {"class", css_class}});
}

}  // namespace quest::report
