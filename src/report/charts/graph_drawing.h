#pragma once

// Nodes and the edges between them. A node's colour is its class; one that was taken for something else is a ring.

#include <string>
#include <utility>
#include <vector>

#include "report/charts/figure.h"

namespace quest::report {

struct DrawnNode {
  double x = 0.0;  // both from 0 to 1, y downwards
  double y = 0.0;
  int color = 0;
  bool is_wrong = false;
  std::string text;  // told when it is pointed at
};

struct GraphDrawing {
  std::string title;
  std::vector<DrawnNode> nodes;
  std::vector<std::pair<std::size_t, std::size_t>> edges;  // places in `nodes`
};

[[nodiscard]] Panel graph_drawing(const GraphDrawing& graph);

}  // namespace quest::report
