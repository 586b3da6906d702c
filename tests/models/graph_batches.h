#pragma once

// Batches of made-up graphs with every feature that a GraphGps may read.

#include "quest/models/graph_gps.h"

namespace quest::testing {

// What the features of a model's options look like.
models::GraphBatch one_graph(const models::GraphGpsOptions& options, std::int64_t nodes, std::int64_t edges);

models::GraphBatch joined(const std::vector<models::GraphBatch>& batches);

// The batch of one graph whose node i is the node order[i] of another.
models::GraphBatch reordered(const models::GraphBatch& graph, const at::Tensor& order);

}  // namespace quest::testing
