#pragma once

// Every benchmark as a few random graphs, with the features and labels of the published one.

#include <torch/torch.h>

#include <filesystem>
#include <string>

#include "data/graph_packer.h"
#include "data/sets/graph_file.h"
#include "data/sets/published_graphs.h"

namespace quest::testing {

inline at::Tensor random_ids(std::int64_t rows, const std::vector<std::int64_t>& categories) {
  std::vector<at::Tensor> columns;
  for (const auto count : categories) columns.push_back(torch::randint(count, {rows, 1}, at::kLong));
  return columns.empty() ? at::Tensor() : torch::cat(columns, 1);
}

inline void add_pairs(data::Graph& graph) {
  graph.pair_source = torch::arange(graph.nodes - 1);
  graph.pair_target = graph.pair_source + 1;
  graph.pair_label = graph.pair_source.remainder(2);
}

inline at::Tensor random_labels(const data::GraphSchema& schema, std::int64_t nodes) {
  switch (schema.task) {
    case data::GraphTask::node_classes:
      return torch::randint(schema.outputs, {nodes}, at::kLong);
    case data::GraphTask::graph_classes:
      return torch::randint(schema.outputs, {}, at::kLong);
    case data::GraphTask::graph_targets:
      return torch::randint(2, {schema.outputs}, at::kLong).to(at::kFloat);
    case data::GraphTask::pairs:
      break;
  }
  return {};
}

// A ring with chords; pictures have values at nodes and edges instead of types.
inline data::Graph benchmark_graph(const data::GraphSchema& schema, std::int64_t nodes) {
  const auto ring = torch::arange(nodes);
  const auto next = (ring + 1).remainder(nodes);
  const auto chord = (ring + nodes / 2).remainder(nodes);
  data::Graph graph{
      .nodes = nodes, .source = torch::cat({ring, next, ring, chord}), .target = torch::cat({next, ring, chord, ring})};
  const auto edges = graph.source.size(0);
  const bool is_picture = schema.node_categories.empty();
  const bool is_small_picture = schema.task == data::GraphTask::graph_classes;
  graph.node_ids = random_ids(nodes, schema.node_categories);
  graph.edge_ids = random_ids(edges, schema.edge_categories);
  if (is_picture) graph.node_values = torch::rand({nodes, is_small_picture ? 5 : 14});
  if (is_picture) graph.edge_values = torch::rand({edges, is_small_picture ? 1 : 2});
  graph.labels = random_labels(schema, nodes);
  if (schema.task == data::GraphTask::pairs) add_pairs(graph);
  return graph;
}

// NAME.safetensors in the folder: 8 graphs to train, 5 to validate, 6 to test.
inline void write_small_benchmark(const std::filesystem::path& folder, const std::string& name) {
  torch::manual_seed(3);
  const auto schema = data::benchmark_schema(name);
  data::GraphPacker packer(schema);
  for (const auto& [split, graphs] : {std::pair("train", 8), std::pair("validation", 5), std::pair("test", 6)}) {
    packer.begin_split(split);
    for (int i = 0; i < graphs; ++i) packer.add(benchmark_graph(schema, 12 + 3 * i));
  }
  std::filesystem::create_directories(folder);
  data::save_graph_set(folder / (name + ".safetensors"), packer.finish());
}

}  // namespace quest::testing
