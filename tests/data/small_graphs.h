#pragma once

// Graphs for tests: made by hand, at random, and edge by edge from a batch.

#include <torch/torch.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "data/graph_packer.h"

namespace quest::testing {

using Edges = std::vector<std::pair<std::int64_t, std::int64_t>>;  // from, to

inline data::Graph graph_of(std::int64_t nodes, const Edges& edges) {
  data::Graph graph{.nodes = nodes,
                    .source = torch::empty({static_cast<std::int64_t>(edges.size())}, at::kLong),
                    .target = torch::empty({static_cast<std::int64_t>(edges.size())}, at::kLong)};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    graph.source[static_cast<std::int64_t>(i)] = edges[i].first;
    graph.target[static_cast<std::int64_t>(i)] = edges[i].second;
  }
  return graph;
}

// Both directions of edges that are there with some probability.
inline data::Graph random_graph(std::int64_t nodes, double probability) {
  const auto is_edge = torch::rand({nodes, nodes}).lt(probability).triu(1);
  const auto edges = (is_edge | is_edge.t()).nonzero();
  return {.nodes = nodes, .source = edges.select(1, 0), .target = edges.select(1, 1)};
}

inline data::GraphSchema schema(data::GraphTask task, std::int64_t outputs) {
  return {.name = "small", .task = task, .outputs = outputs};
}

// Without features; every label is 0.
inline data::GraphSet set_of(std::vector<data::Graph> graphs) {
  data::GraphPacker packer(schema(data::GraphTask::node_classes, 1));
  packer.begin_split("train");
  for (auto& graph : graphs) {
    graph.labels = torch::zeros({graph.nodes}, at::kLong);
    packer.add(graph);
  }
  return packer.finish();
}

}  // namespace quest::testing
