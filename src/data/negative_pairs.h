#pragma once

// Pairs of nodes that do not belong together, drawn anew for every batch to train against those that do.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "base/random.h"

namespace quest::data {

// How many are drawn for each pair that belongs together, and the generator of the batch's i-th graph.
struct NegativePairs {
  std::int64_t each = 0;
  std::function<base::Random(std::size_t)> random{};
};

// Of a batch; int64, nodes numbered over the batch.
struct PairTensors {
  at::Tensor offsets;  // [G + 1]
  at::Tensor source;
  at::Tensor target;
  at::Tensor label;
};

// The pairs with the label 1, graph by graph, each graph's followed by its drawn pairs with the label 0: for every pair
// (i, j) as many pairs (i, k), k any node of the graph. A draw that is a pair with the label 1 or was drawn before is
// repeated, ten times at most, and then left out. Graph g has the nodes nodes[g] .. nodes[g + 1], int32.
[[nodiscard]] PairTensors with_negative_pairs(const PairTensors& pairs, const at::Tensor& nodes,
                                              const NegativePairs& negatives);

}  // namespace quest::data
