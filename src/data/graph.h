#pragma once

// One graph, as data sets give it and batches take it.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quest::data {

// What is to be said of a graph.
enum class GraphTask {
  node_classes,   // labels [nodes], whole numbers
  graph_classes,  // labels [], a whole number
  graph_targets,  // labels [targets], floats
  pairs,          // pair_label [pairs]: whether two nodes belong together
};

// On the CPU; what a data set has not is undefined. An undirected graph holds both directions of an edge.
struct Graph {
  std::int64_t nodes = 0;
  at::Tensor source;       // [edges] whole numbers: edge i leads from source[i] to target[i]
  at::Tensor target;       // [edges]
  at::Tensor node_ids;     // [nodes, columns] whole numbers: categories
  at::Tensor node_values;  // [nodes, columns] floats
  at::Tensor edge_ids;     // [edges, columns]
  at::Tensor edge_values;  // [edges, columns]
  at::Tensor labels;       // as the task says
  at::Tensor pair_source;  // [pairs]
  at::Tensor pair_target;  // [pairs]
  at::Tensor pair_label;   // [pairs] 0 or 1
};

}  // namespace quest::data
