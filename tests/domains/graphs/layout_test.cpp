#include "domains/graphs/layout.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quest::graphs {
namespace {

double distance(const Place& a, const Place& b) { return std::hypot(a.x - b.x, a.y - b.y); }

TEST(Layout, FillsItsSquare) {
  const std::vector<Edge> edges = {{0, 1}, {1, 2}, {2, 2}};
  for (const std::size_t nodes : {0UL, 1UL, 3UL, 40UL}) {
    const auto places = layout(nodes, nodes < 3 ? std::span<const Edge>() : edges);
    ASSERT_EQ(places.size(), nodes);
    for (const auto& place : places) {
      EXPECT_TRUE(place.x >= 0.0 && place.x <= 1.0 && place.y >= 0.0 && place.y <= 1.0);
    }
  }
}

TEST(Layout, PutsNeighboursTogether) {
  std::vector<Edge> edges;  // two groups of ten, all joined inside, one edge between
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      edges.emplace_back(j, i);
      edges.emplace_back(10 + j, 10 + i);
    }
  }
  edges.emplace_back(0, 10);
  const auto places = layout(20, edges);
  double inside = 0.0;
  double between = 0.0;
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < i; ++j) (i / 10 == j / 10 ? inside : between) += distance(places[i], places[j]);
  }
  EXPECT_LT(inside / 90.0, 0.6 * between / 100.0);
  EXPECT_EQ(layout(20, edges)[7].x, places[7].x) << "the same every time";
}

}  // namespace
}  // namespace quest::graphs
