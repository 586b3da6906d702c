#pragma once

// Positional encodings of graphs: where a node lies, from the edges alone. Computed once for a whole set, one graph a
// time on each of torch's threads; the bits do not depend on how many there are.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "data/graph_parallel.h"
#include "data/graph_set.h"

namespace quest::data {

struct LaplacianEncoding {
  at::Tensor vectors;  // float [V, terms], each of length 1 over the nodes of its graph
  at::Tensor values;   // float [G, terms], ascending, not below 0
};

// Eigenvectors of the `terms` smallest eigenvalues, 0 among them, of the Laplacian D - A of every graph taken as
// undirected and simple: an edge in either direction counts once, one from a node to itself not at all. A graph with
// fewer nodes than terms has NaN where it has no eigenvector. The sign of an eigenvector means nothing.
[[nodiscard]] LaplacianEncoding laplacian_encoding(const GraphSet& set, std::int64_t terms,
                                                   const Progress& progress = {});

// Float [V, steps]: how likely a walk that follows edges from their source to their target, each edge of a node as
// likely as the others, is at the node where it began after 1, 2, … steps. A node without edges has zeros.
[[nodiscard]] at::Tensor random_walk_encoding(const GraphSet& set, std::int64_t steps, const Progress& progress = {});

}  // namespace quest::data
