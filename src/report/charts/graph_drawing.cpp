#include "report/charts/graph_drawing.h"

#include <algorithm>

#include "report/charts/markup.h"

namespace quest::report {
namespace {

constexpr double kTop = 30.0;
constexpr double kMargin = 8.0;
constexpr double kSide = kPanelWidth - 2.0 * kMargin;
constexpr double kRadius = 4.0;

double place_x(const DrawnNode& node) { return kMargin + node.x * kSide; }
double place_y(const DrawnNode& node) { return kTop + node.y * kSide; }

// One path: thousands of lines as elements of their own would make the page heavy.
std::string edges_of(const GraphDrawing& graph) {
  std::string path;
  for (const auto& [from, to] : graph.edges) {
    const auto& a = graph.nodes[from];
    const auto& b = graph.nodes[to];
    path += "M" + number(place_x(a), 1) + " " + number(place_y(a), 1) + "L" + number(place_x(b), 1) + " " +
            number(place_y(b), 1);
  }
  if (path.empty()) return "";
  const double opacity = std::clamp(1.0 - static_cast<double>(graph.edges.size()) / 1000.0, 0.1, 0.8);
  return element("path", {{"d", path}, {"class", "axis"}, {"fill", "none"}, {"opacity", number(opacity)}}) + "\n";
}

std::string node_of(const DrawnNode& node) {
  const std::string x = number(place_x(node), 1);
  const std::string y = number(place_y(node), 1);
  const std::string circle = node.is_wrong
                                 ? element("circle", {{"cx", x}, {"cy", y}, {"r", number(kRadius)}, {"class", "line"}})
                                 : element("circle", {{"cx", x}, {"cy", y}, {"r", number(kRadius)}, {"class", "bar"}});
  return mark("node series" + std::to_string(node.color), node.text, circle);
}

}  // namespace

Panel graph_drawing(const GraphDrawing& graph) {
  std::string drawing = text_at(kMargin, 18.0, Anchor::start, "title", graph.title) + edges_of(graph);
  for (const auto& node : graph.nodes) drawing += node_of(node);
  const auto wrong = std::ranges::count_if(graph.nodes, &DrawnNode::is_wrong);
  return {.title = graph.title,
          .summary = grouped(static_cast<long long>(graph.nodes.size())) + " nodes, " +
                     grouped(static_cast<long long>(graph.edges.size())) + " edges, " +
                     grouped(static_cast<long long>(wrong)) + " nodes taken for another class.",
          .height = kTop + kSide + kMargin,
          .drawing = std::move(drawing)};
}

}  // namespace quest::report
