#pragma once

// Where the nodes of a graph are drawn: neighbours near each other, nobody on top of another.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace quest::graphs {

struct Place {
  double x = 0.0;
  double y = 0.0;
};

using Edge = std::pair<std::size_t, std::size_t>;

// Both from 0 to 1. The same graph is laid out the same everywhere.
[[nodiscard]] std::vector<Place> layout(std::size_t nodes, std::span<const Edge> edges);

}  // namespace quest::graphs
