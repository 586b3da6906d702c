#pragma once

// Edges of made-up graphs.

#include "quest/nn/message_passing.h"

namespace quest::testing {

// Edges in any order, brought into that of their targets.
nn::GraphEdges edges_of(const at::Tensor& source, const at::Tensor& target, std::int64_t nodes);

// So many edges between nodes drawn at random; loops and repetitions among them.
nn::GraphEdges random_edges(std::int64_t nodes, std::int64_t edges);

}  // namespace quest::testing
