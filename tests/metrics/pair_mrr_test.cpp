#include "metrics/pair_mrr.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

struct Graphs {
  at::Tensor nodes;
  at::Tensor offsets;
  at::Tensor source;
  at::Tensor target;
};

// Small whole numbers, so that scores are often equal.
Graphs random_graphs(const std::vector<std::int64_t>& sizes, std::int64_t pairs) {
  Graphs graphs{.nodes = torch::empty({0, 3})};
  std::vector<std::int64_t> offsets = {0};
  std::vector<at::Tensor> source;
  std::vector<at::Tensor> target;
  for (const auto size : sizes) {
    graphs.nodes = torch::cat({graphs.nodes, torch::randint(-2, 3, {size, 3}).to(at::kFloat)});
    source.push_back(torch::randint(0, size, {pairs}) + offsets.back());
    target.push_back(torch::randint(0, size, {pairs}) + offsets.back());
    offsets.push_back(offsets.back() + size);
  }
  graphs.offsets = torch::tensor(offsets, at::kInt);
  graphs.source = torch::cat(source);
  graphs.target = torch::cat(target);
  return graphs;
}

double value(const Graphs& graphs) {
  PairMrr metric;
  metric.add(graphs.nodes, graphs.offsets, graphs.source, graphs.target, 1.0);
  return metric.value();
}

TEST(PairMrr, RanksTheSecondNodeAgainstAllOthersOfItsGraph) {
  torch::manual_seed(1);
  const auto graphs = random_graphs({7, 1, 12}, 5);
  double expected = 0;
  for (std::int64_t graph = 0; graph < 3; ++graph) {
    const auto first = graphs.offsets[graph].item<std::int64_t>();
    const auto last = graphs.offsets[graph + 1].item<std::int64_t>();
    for (std::int64_t pair = 5 * graph; pair < 5 * graph + 5; ++pair) {
      const auto from = graphs.nodes[graphs.source[pair].item<std::int64_t>()];
      const auto right = graphs.target[pair].item<std::int64_t>();
      const double own = from.dot(graphs.nodes[right]).item<double>();
      double ahead = 0;
      double equal = 0;
      for (auto other = first; other < last; ++other) {
        if (other == right) continue;
        const double score = from.dot(graphs.nodes[other]).item<double>();
        ahead += score > own ? 1 : 0;
        equal += score == own ? 1 : 0;
      }
      expected += 1.0 / (1.0 + ahead + equal / 2.0) / 5.0 / 3.0;
    }
  }
  EXPECT_NEAR(value(graphs), expected, 1e-12);
}

TEST(PairMrr, GraphsWithoutPairsDoNotCount) {
  auto graphs = random_graphs({4, 4}, 3);
  graphs.source = graphs.source.slice(0, 0, 3);
  graphs.target = graphs.target.slice(0, 0, 3);
  auto first = graphs;
  first.offsets = graphs.offsets.slice(0, 0, 2);
  EXPECT_EQ(value(graphs), value(first));
  graphs.source = graphs.source.slice(0, 0, 0);
  graphs.target = graphs.target.slice(0, 0, 0);
  EXPECT_TRUE(std::isnan(value(graphs)));
}

TEST(PairMrr, BatchesCountByTheirWeight) {
  torch::manual_seed(2);
  const auto one = random_graphs({5}, 4);
  const auto other = random_graphs({9}, 4);
  PairMrr metric;
  metric.add(one.nodes, one.offsets, one.source, one.target, 3.0);
  metric.add(other.nodes, other.offsets, other.source, other.target, 1.0);
  EXPECT_NEAR(metric.value(), 0.75 * value(one) + 0.25 * value(other), 1e-12);
}

TEST(PairMrr, RefusesPairsOfTwoGraphs) {
  auto graphs = random_graphs({4, 4}, 1);
  graphs.target[0] = 5;
  graphs.source[0] = 1;
  EXPECT_THROW((void)value(graphs), std::invalid_argument);
}

}  // namespace
}  // namespace quest::metrics
