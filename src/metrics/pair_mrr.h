#pragma once

#include "metrics/mean.h"

namespace quest::metrics {

// The mean reciprocal rank of pairs of nodes inside their graphs, as the long-range graph benchmark takes it ("raw"):
// the score of two nodes is the dot product of their vectors, and the second node of a pair ranks against every other
// node of the graph, the first one and those of other pairs too. The mean is that of each graph's mean, over the graphs
// of a batch that have pairs; batches count by their weight. Ranks of equal scores are those of reciprocal_ranks.
class PairMrr final : public Mean {
 public:
  // nodes [V, dim]; offsets [G + 1]: graph g has the nodes offsets[g] .. offsets[g + 1]; source and target [P]: nodes
  // of the pairs that belong together. Throws std::invalid_argument for a pair of two graphs.
  void add(const at::Tensor& nodes, const at::Tensor& offsets, const at::Tensor& source, const at::Tensor& target,
           double weight);
};

}  // namespace quest::metrics
