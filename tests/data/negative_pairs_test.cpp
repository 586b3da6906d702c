#include "data/negative_pairs.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/data/small_graphs.h"

namespace quest::data {
namespace {

using quest::testing::graph_of;
using quest::testing::schema;

Graph with_pairs(std::int64_t nodes, const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target,
                 const std::vector<std::int64_t>& label) {
  auto graph = graph_of(nodes, {});
  graph.pair_source = torch::tensor(source, at::kLong);
  graph.pair_target = torch::tensor(target, at::kLong);
  graph.pair_label = torch::tensor(label, at::kLong);
  return graph;
}

// Forty nodes with three pairs, one without any, two nodes in which every pair belongs together.
Batch three_graphs(const NegativePairs& negatives) {
  GraphPacker packer(schema(GraphTask::pairs, 1));
  packer.add(with_pairs(40, {3, 9, 9, 1}, {9, 3, 20, 2}, {1, 1, 1, 0}));
  packer.add(with_pairs(1, {}, {}, {}));
  packer.add(with_pairs(2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1, 1, 1, 1}));
  return packer.finish().batch(std::vector<std::int64_t>{0, 1, 2}, negatives);
}

base::Random generator(std::size_t graph) { return {7, {graph}}; }

TEST(NegativePairs, AreDrawnFromTheGraphOfTheirPair) {
  const auto batch = three_graphs({.each = 2, .random = generator});
  EXPECT_TRUE(batch["pair_offsets"].equal(torch::tensor({0, 9, 9, 13})));
  EXPECT_TRUE(batch["pair_label"].equal(torch::tensor({1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1})));
  EXPECT_TRUE(batch["pair_source"].equal(torch::tensor({3, 9, 9, 3, 3, 9, 9, 9, 9, 41, 41, 42, 42})));
  EXPECT_TRUE(batch["pair_target"].slice(0, 0, 3).equal(torch::tensor({9, 3, 20})));
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  for (std::int64_t i = 0; i < 13; ++i) {
    all.emplace(batch["pair_source"][i].item<std::int64_t>(), batch["pair_target"][i].item<std::int64_t>());
    EXPECT_TRUE(i >= 9 || batch["pair_target"][i].item<std::int64_t>() < 40);
  }
  EXPECT_EQ(all.size(), 13U) << "no pair stands twice";
  EXPECT_EQ(batch["offsets"].size(0), 4);
}

TEST(NegativePairs, DependOnTheGenerator) {
  const auto one = three_graphs({.each = 2, .random = generator})["pair_target"];
  EXPECT_TRUE(one.equal(three_graphs({.each = 2, .random = generator})["pair_target"]));
  const auto other = [](std::size_t graph) { return base::Random(8, {graph}); };
  EXPECT_FALSE(one.equal(three_graphs({.each = 2, .random = other})["pair_target"]));
}

}  // namespace
}  // namespace quest::data
