#pragma once

// What every user of a set of graphs relies on, checked once where the set is made.

#include "data/graph_set.h"

namespace quest::data {

// Types and shapes, offsets that do not fall, edges and pairs inside their graph, categories and labels below their
// number, no NaN or infinity among values. Throws FormatError that names the graph.
void check_graph_tensors(const GraphSchema& schema, const GraphTensors& tensors);

// Splits lie inside the set.
void check_splits(const GraphSet::Splits& splits, std::int64_t graphs);

}  // namespace quest::data
