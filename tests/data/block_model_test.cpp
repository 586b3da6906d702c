// The generators of PATTERN and CLUSTER against the rules of the published sets.

#include "data/sets/block_model.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/testing/folder_fixture.h"

namespace quest::data {
namespace {

// How many of `trials` pairs have an edge lies within five deviations of what the probability says.
void expect_share(double edges, double trials, double probability) {
  EXPECT_NEAR(edges / trials, probability, 5.0 * std::sqrt(probability * (1.0 - probability) / trials));
}

at::Tensor adjacency(const Graph& graph) {
  auto matrix = torch::zeros({graph.nodes, graph.nodes}, at::kLong);
  return matrix.index_put_({graph.source.to(at::kLong), graph.target.to(at::kLong)}, torch::ones({1}, at::kLong), true);
}

void expect_simple(const at::Tensor& matrix) {
  EXPECT_TRUE(matrix.equal(matrix.t()));
  EXPECT_LE(matrix.max().item<std::int64_t>(), 1);
  EXPECT_EQ(matrix.diag().sum().item<std::int64_t>(), 0);
}

TEST(BlockModel, ClustersFollowTheRules) {
  const auto set = generate_block_model(BlockModel::cluster, {.train = 150, .validation = 20, .test = 30}, 3);
  EXPECT_EQ(set.split("train").size(), 150);
  EXPECT_EQ(set.split("validation").size(), 20);
  EXPECT_EQ(set.split("test").size(), 30);
  EXPECT_EQ(set.schema().outputs, 6);
  double inside = 0, inside_pairs = 0, between = 0, between_pairs = 0;
  std::map<std::int64_t, int> sizes;
  double places = 0;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const auto graph = set.graph(i);
    const auto matrix = adjacency(graph);
    expect_simple(matrix);
    const auto labels = graph.labels.to(at::kLong);
    const auto ids = graph.node_ids.flatten().to(at::kLong);
    const auto same = labels.unsqueeze(0).eq(labels.unsqueeze(1)).to(at::kLong).fill_diagonal_(0);
    const auto other = labels.unsqueeze(0).ne(labels.unsqueeze(1)).to(at::kLong);
    inside += (matrix * same).sum().item<double>() / 2;
    inside_pairs += same.sum().item<double>() / 2;
    between += (matrix * other).sum().item<double>() / 2;
    between_pairs += other.sum().item<double>() / 2;
    for (std::int64_t community = 0; community < 6; ++community) {
      const auto own = labels.eq(community);
      ++sizes[own.sum().item<std::int64_t>()];
      // One node of it says which community it is; no other id of its nodes is set.
      EXPECT_EQ(ids.masked_select(own).sum().item<std::int64_t>(), community + 1);
      EXPECT_EQ(ids.masked_select(own).gt(0).sum().item<std::int64_t>(), 1);
    }
    places += torch::arange(graph.nodes).masked_select(labels.eq(0)).to(at::kDouble).mean().item<double>() /
              static_cast<double>(graph.nodes - 1);
  }
  expect_share(inside, inside_pairs, 0.55);
  expect_share(between, between_pairs, 0.25);
  EXPECT_EQ(sizes.begin()->first, 5);
  EXPECT_EQ(sizes.rbegin()->first, 34);
  EXPECT_EQ(sizes.size(), 30U);
  for (const auto& [size, count] : sizes) expect_share(count, 1200, 1.0 / 30.0);
  EXPECT_NEAR(places / 200, 0.5, 0.03) << "nodes are shuffled: a community lies anywhere";
}

TEST(BlockModel, PatternsFollowTheRules) {
  const auto set = generate_block_model(BlockModel::pattern, {.train = 200, .validation = 100, .test = 100}, 5);
  EXPECT_EQ(set.schema().outputs, 2);
  double planted = 0, planted_pairs = 0, across = 0, across_pairs = 0;
  double base_edges = 0, base_pairs = 0;
  std::map<std::int64_t, std::set<std::int64_t>> sizes;
  std::map<std::int64_t, std::set<std::int64_t>> inner_edges;
  std::vector<double> ids(3, 0.0);
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const auto graph = set.graph(i);
    const auto matrix = adjacency(graph);
    expect_simple(matrix);
    const auto label = graph.labels.to(at::kLong);
    const auto size = label.sum().item<std::int64_t>();
    const auto both = label.unsqueeze(0) * label.unsqueeze(1);
    const auto one = label.unsqueeze(0).ne(label.unsqueeze(1)).to(at::kLong);
    const auto none = (1 - label).unsqueeze(0) * (1 - label).unsqueeze(1);
    const auto edges = (matrix * both).sum().item<std::int64_t>() / 2;
    sizes[i % 100].insert(size);
    inner_edges[i % 100].insert(edges);
    if (i < 100) {
      planted += static_cast<double>(edges);
      planted_pairs += static_cast<double>(size * (size - 1)) / 2;
    }
    across += (matrix * one).sum().item<double>() / 2;
    across_pairs += one.sum().item<double>() / 2;
    base_edges += (matrix * none).sum().item<double>() / 2;
    base_pairs += (none.sum().item<double>() - static_cast<double>(graph.nodes - size)) / 2;
    const auto base = graph.node_ids.flatten().to(at::kLong).masked_select(label.eq(0));
    for (std::int64_t id = 0; id < 3; ++id) ids[static_cast<std::size_t>(id)] += base.eq(id).sum().item<double>();
  }
  expect_share(across, across_pairs, 0.5);
  expect_share(planted, planted_pairs, 0.5);
  // Five communities of 5 to 34 nodes: 0.5 inside, 0.35 between. E[n²] is 455.2, E[n] 19.5.
  const double same = 5 * (455.2 - 19.5) / (5 * (455.2 - 19.5) + 20 * 19.5 * 19.5);
  EXPECT_NEAR(base_edges / base_pairs, 0.35 + 0.15 * same, 0.003);
  const double all = ids[0] + ids[1] + ids[2];
  for (const double count : ids) expect_share(count, all, 1.0 / 3.0);
  EXPECT_EQ(sizes.size(), 100U);
  std::set<std::int64_t> different;
  for (const auto& [pattern, own] : sizes) {
    EXPECT_EQ(own.size(), 1U) << "pattern " << pattern << " has one size in all graphs and splits";
    EXPECT_EQ(inner_edges[pattern].size(), 1U) << pattern;
    different.insert(*own.begin());
  }
  EXPECT_GE(*different.begin(), 5);
  EXPECT_LE(*different.rbegin(), 34);
  EXPECT_GT(different.size(), 20U);
}

TEST(BlockModel, DependsOnTheSeedAloneNotOnThreads) {
  const auto threads = at::get_num_threads();
  for (const auto model : {BlockModel::pattern, BlockModel::cluster}) {
    at::set_num_threads(1);
    const auto one = generate_block_model(model, {.train = 7, .validation = 2, .test = 2}, 1);
    at::set_num_threads(3);
    const auto three = generate_block_model(model, {.train = 7, .validation = 2, .test = 2}, 1);
    EXPECT_TRUE(one.tensors().source.equal(three.tensors().source));
    EXPECT_TRUE(one.tensors().node_ids.equal(three.tensors().node_ids));
    EXPECT_TRUE(one.tensors().labels.equal(three.tensors().labels));
    // The first graphs are those of a larger set.
    const auto more = generate_block_model(model, {.train = 9, .validation = 1, .test = 1}, 1);
    EXPECT_TRUE(more.graph(6).source.equal(one.graph(6).source));
    const auto other = generate_block_model(model, {.train = 7, .validation = 2, .test = 2}, 2);
    EXPECT_NE(other.nodes(), one.nodes());
  }
  at::set_num_threads(threads);
}

class BlockModelCache : public quest::testing::FolderFixture {
 protected:
  BlockModelCache() { ::setenv("XDG_CACHE_HOME", in_folder("cache").c_str(), 1); }
  ~BlockModelCache() override { ::unsetenv("XDG_CACHE_HOME"); }
};

TEST_F(BlockModelCache, KeepsWhatWasMade) {
  int made = 0;
  const auto load = [&](std::uint64_t seed) {
    return load_block_model(BlockModel::cluster, {.train = 3, .validation = 1, .test = 1}, seed,
                            [&](double done) { made += done == 1.0 ? 1 : 0; });
  };
  const auto first = load(0);
  const auto again = load(0);
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(first.tensors().source.equal(again.tensors().source));
  EXPECT_EQ(again.split("test").size(), 1);
  (void)load(1);
  EXPECT_EQ(made, 2);
}

TEST(BlockModel, HasThePublishedSizes) {
  EXPECT_EQ(published_size(BlockModel::pattern).test, 2000);
  EXPECT_EQ(published_size(BlockModel::cluster).test, 1000);
}

}  // namespace
}  // namespace quest::data
