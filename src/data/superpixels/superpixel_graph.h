#pragma once

// An image becomes the graph of its superpixels, as the benchmark's CIFAR10 does. Needs no torch.

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "data/superpixels/slic.h"

namespace quest::data {

struct SuperpixelGraph {
  std::vector<float> nodes;  // mean red, green, blue, and the centre's row and column over the image's height: 5 each
  std::vector<float> edges;  // closeness of the two nodes, from 0 to 1
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> target;

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(nodes.size()) / 5; }
};

// At most 150 segments of compactness 10, in random order. Closeness of nodes i and j, from their places alone:
//   A = (a + aᵀ) / 2,   a_ij = exp(-(d_ij / σ_i)²),   σ_i = the sum of the 9 smallest d_ij, d_ii = 0 among them, over 8
// Edges lead from each node to the 8 closest of the others, the lower number first among equals;
// up to 9 nodes are all joined. The published program takes 8 of the 9 closest, by the whim of a partition.
[[nodiscard]] SuperpixelGraph superpixel_graph(const ColourImage& image, base::Random random);

}  // namespace quest::data
