#include "data/graph_set.h"

#include <gtest/gtest.h>

#include <limits>

#include "data/formats/format_error.h"
#include "data/sets/graph_file.h"
#include "data/weights/safetensors.h"
#include "tests/data/small_graphs.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::graph_of;
using quest::testing::has;
using quest::testing::message_of;
using quest::testing::schema;

at::Tensor longs(const std::vector<std::int64_t>& numbers) { return torch::tensor(numbers, at::kLong); }

::testing::AssertionResult same(const at::Tensor& found, const at::Tensor& expected) {
  if (found.defined() && found.scalar_type() == expected.scalar_type() && found.equal(expected)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "found " << found << "\nexpected " << expected;
}

// Three nodes in a line with a feature each, no node, one node, two nodes joined both ways and one to itself.
GraphSet four_graphs() {
  auto what = schema(GraphTask::node_classes, 4);
  what.node_categories = {300, 2};
  GraphPacker packer(what);
  packer.begin_split("train");
  auto line = graph_of(3, {{2, 1}, {0, 1}, {1, 0}});
  line.node_ids = longs({7, 0, 8, 1, 299, 0}).view({3, 2});
  line.edge_values = torch::tensor({0.5F, 1.5F, 2.5F}).view({3, 1});
  line.labels = longs({3, 0, 1});
  packer.add(line);
  auto none = graph_of(0, {});
  none.node_ids = torch::empty({0, 2}, at::kLong);
  none.edge_values = torch::empty({0, 1});
  none.labels = longs({});
  packer.add(none);
  packer.begin_split("test");
  auto one = graph_of(1, {});
  one.node_ids = longs({5, 1}).view({1, 2});
  one.edge_values = torch::empty({0, 1});
  one.labels = longs({2});
  packer.add(one);
  auto pair = graph_of(2, {{1, 0}, {0, 1}, {1, 1}});
  pair.node_ids = longs({0, 1, 1, 0}).view({2, 2});
  pair.edge_values = torch::tensor({10.0F, 11.0F, 12.0F}).view({3, 1});
  pair.labels = longs({0, 1});
  packer.add(pair);
  return packer.finish();
}

TEST(GraphSet, GivesTheBatchThatIsMadeByHand) {
  const auto set = four_graphs();
  const auto batch = set.batch(std::vector<std::int64_t>{3, 1, 0});
  EXPECT_EQ(batch.samples(), 3);
  EXPECT_TRUE(same(batch["offsets"], torch::tensor({0, 2, 2, 5}, at::kInt)));
  EXPECT_TRUE(same(batch["graph"], longs({0, 0, 2, 2, 2})));
  // By target, edges of one target as they were given.
  EXPECT_TRUE(same(batch["source"], longs({1, 0, 1, 3, 4, 2})));
  EXPECT_TRUE(same(batch["target"], longs({0, 1, 1, 2, 3, 3})));
  EXPECT_TRUE(same(batch["edge_offsets"], longs({0, 1, 3, 4, 6, 6})));
  EXPECT_TRUE(same(batch["by_source"], longs({1, 0, 2, 5, 3, 4})));
  EXPECT_TRUE(same(batch["source_offsets"], longs({0, 1, 3, 4, 5, 6})));
  EXPECT_TRUE(same(batch["node_ids"], longs({0, 1, 1, 0, 7, 0, 8, 1, 299, 0}).view({5, 2})));
  EXPECT_TRUE(same(batch["edge_values"], torch::tensor({10.0F, 11.0F, 12.0F, 2.5F, 0.5F, 1.5F}).view({6, 1})));
  EXPECT_TRUE(same(batch["y"], longs({0, 1, 3, 0, 1})));
  for (const auto* absent : {"node_values", "edge_ids", "lap_vectors", "lap_values", "rwse", "pair_source"}) {
    EXPECT_FALSE(batch.get(absent).defined()) << absent;
  }
}

TEST(GraphSet, HasBatchesOfGraphsWithoutNodesAndOfNoGraph) {
  const auto set = four_graphs();
  for (const auto& graphs : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{1, 1}}) {
    const auto batch = set.batch(graphs);
    EXPECT_EQ(batch.samples(), std::ssize(graphs));
    EXPECT_TRUE(same(batch["offsets"], torch::zeros({std::ssize(graphs) + 1}, at::kInt)));
    EXPECT_TRUE(same(batch["edge_offsets"], longs({0})));
    EXPECT_TRUE(same(batch["source_offsets"], longs({0})));
    EXPECT_EQ(batch["node_ids"].sizes(), (std::vector<std::int64_t>{0, 2}));
    EXPECT_EQ(batch["source"].numel() + batch["y"].numel(), 0);
  }
  EXPECT_THROW((void)set.batch(std::vector<std::int64_t>{4}), std::out_of_range);
  EXPECT_THROW((void)set.batch(std::vector<std::int64_t>{-1}), std::out_of_range);
}

// Every promise about the order of edges, on random graphs with edges that stand twice.
TEST(GraphSet, SortsEdgesStablyBothWays) {
  torch::manual_seed(1);
  GraphPacker packer(schema(GraphTask::graph_classes, 2));
  std::vector<Graph> graphs;
  for (const std::int64_t nodes : {5, 40, 1, 300}) {
    const auto edges = 3 * nodes;
    graphs.push_back({.nodes = nodes,
                      .source = torch::randint(0, nodes, {edges}),
                      .target = torch::randint(0, nodes, {edges}),
                      .edge_values = torch::arange(edges, at::kFloat).unsqueeze(1),
                      .labels = torch::ones({1}, at::kLong)});
    packer.add(graphs.back());
  }
  const auto set = packer.finish();
  EXPECT_EQ(set.tensors().source.scalar_type(), at::kShort) << "300 nodes do not fit in a byte";
  const std::vector<std::int64_t> order = {2, 3, 0, 1};
  const auto batch = set.batch(order);
  std::int64_t node = 0;
  std::int64_t edge = 0;
  for (const auto number : order) {
    const auto& graph = graphs[static_cast<std::size_t>(number)];
    const auto by_target = std::get<1>(graph.target.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false));
    const auto own = at::indexing::Slice(edge, edge + by_target.numel());
    EXPECT_TRUE(same(batch["source"].index({own}), graph.source.index_select(0, by_target) + node));
    EXPECT_TRUE(same(batch["target"].index({own}), graph.target.index_select(0, by_target) + node));
    EXPECT_TRUE(same(batch["edge_values"].index({own}), graph.edge_values.index_select(0, by_target)));
    const auto again = set.graph(number);
    EXPECT_TRUE(same(again.source.to(at::kLong), graph.source.index_select(0, by_target)));
    EXPECT_TRUE(same(again.target.to(at::kLong), graph.target.index_select(0, by_target)));
    node += graph.nodes;
    edge += by_target.numel();
  }
  EXPECT_TRUE(same(batch["by_source"], std::get<1>(batch["source"].sort(/*stable=*/true, 0, false))));
  const auto nodes = torch::arange(node + 1);
  EXPECT_TRUE(same(batch["edge_offsets"], torch::searchsorted(batch["target"], nodes)));
  const auto sorted = batch["source"].index_select(0, batch["by_source"]);
  EXPECT_TRUE(same(batch["source_offsets"], torch::searchsorted(sorted, nodes)));
}

TEST(GraphSet, HasTargetsAndPairs) {
  GraphPacker targets(schema(GraphTask::graph_targets, 2));
  auto graph = graph_of(1, {});
  graph.labels = torch::tensor({1.5F, -2.0F});
  targets.add(graph);
  graph.labels = torch::tensor({{0.0F, 4.0F}});
  targets.add(graph);
  EXPECT_TRUE(same(targets.finish().batch(std::vector<std::int64_t>{1, 0})["y"],
                   torch::tensor({0.0F, 4.0F, 1.5F, -2.0F}).view({2, 2})));
  GraphPacker pairs(schema(GraphTask::pairs, 1));
  for (const std::int64_t nodes : {2, 3}) {
    auto own = graph_of(nodes, {});
    own.pair_source = longs({nodes - 1, 0});
    own.pair_target = longs({0, nodes - 1});
    own.pair_label = longs({1, 0});
    pairs.add(own);
  }
  const auto batch = pairs.finish().batch(std::vector<std::int64_t>{1, 0});
  EXPECT_TRUE(same(batch["pair_source"], longs({2, 0, 4, 3})));
  EXPECT_TRUE(same(batch["pair_target"], longs({0, 2, 3, 4})));
  EXPECT_TRUE(same(batch["pair_label"], longs({1, 0, 1, 0})));
  EXPECT_TRUE(same(batch["pair_offsets"], longs({0, 2, 4})));
}

TEST(GraphSet, KnowsItsSplits) {
  const auto set = four_graphs();
  EXPECT_EQ(set.split("train").size(), 2);
  EXPECT_EQ(set.split("test").first, 2);
  EXPECT_TRUE(same(set.batch(set.split("test"))["y"], longs({2, 0, 1})));
  EXPECT_EQ(message_of([&] { (void)set.split("validation"); }),
            "the data set small has no split \"validation\"; it has train, test");
}

TEST(GraphSet, NamesTheGraphThatIsWrong) {
  const auto reason = [](const Graph& graph, std::int64_t outputs = 1) {
    return message_of([&] {
      auto what = schema(GraphTask::node_classes, outputs);
      what.node_categories = {4};
      GraphPacker packer(what);
      auto first = graph_of(1, {});
      first.node_ids = longs({3}).view({1, 1});
      first.labels = longs({0});
      packer.add(first);
      packer.add(graph);
      (void)packer.finish();
    });
  };
  auto graph = graph_of(2, {{0, 1}});
  graph.node_ids = longs({0, 3}).view({2, 1});
  graph.labels = longs({0, 0});
  EXPECT_EQ(reason(graph), "");
  auto wrong = graph;
  wrong.target = longs({2});
  EXPECT_EQ(reason(wrong), "graph 1: edge 0 leads from node 0 to node 2; expected nodes 0 to 1");
  wrong.target = longs({std::int64_t{1} << 32});
  EXPECT_TRUE(has(reason(wrong), "graph 1: edge 0 leads from node 0 to node"));
  wrong.target = longs({0, 1});
  EXPECT_EQ(reason(wrong), "graph 1: expected a source and a target of each edge, found 1 and 2");
  wrong = graph;
  wrong.labels = longs({0, 1});
  EXPECT_EQ(reason(wrong), "graph 1: row 1 has 1 in \"labels\"; expected 0 to 0");
  EXPECT_EQ(reason(wrong, 2), "");
  wrong.labels = longs({0, -1});
  EXPECT_EQ(reason(wrong), "graph 1: row 1 has -1 in \"labels\"; expected 0 to 0");
  wrong.labels = longs({0});
  EXPECT_EQ(reason(wrong), "graph 1: expected 2 rows of \"labels\", found 1");
  wrong = graph;
  wrong.node_ids = longs({0, 4}).view({2, 1});
  EXPECT_EQ(reason(wrong), "graph 1: row 1 has 4 in \"node_ids\"; expected 0 to 3");
  wrong.node_ids = longs({0, 1}).view({1, 2});
  EXPECT_EQ(reason(wrong), "graph 1: expected 1 columns of \"node_ids\", found 2");
}

TEST(GraphSet, OfNoGraphIsRefused) {
  EXPECT_EQ(message_of([] { (void)GraphPacker(schema(GraphTask::pairs, 1)).finish(); }), "expected graphs, found none");
}

TEST(GraphSet, RefusesValuesThatAreNoNumbers) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    GraphPacker packer(schema(GraphTask::graph_classes, 1));
    auto graph = graph_of(2, {});
    graph.node_values = torch::tensor({1.0F, value}).view({2, 1});
    graph.labels = longs({0});
    EXPECT_EQ(message_of([&] { packer.add(graph); }),
              "graph 0: row 1 of \"node_values\" holds NaN or infinity; expected numbers");
  }
}

class GraphFiles : public quest::testing::FolderFixture {};

TEST_F(GraphFiles, AreReadAsTheyWereWritten) {
  const auto set = four_graphs();
  save_graph_set(in_folder("deep/set.safetensors"), set, "key");
  const auto again = load_graph_set(in_folder("deep/set.safetensors"));
  EXPECT_EQ(again.schema().name, "small");
  EXPECT_EQ(again.schema().node_categories, set.schema().node_categories);
  EXPECT_EQ(again.schema().outputs, 4);
  EXPECT_EQ(again.split("test").last, 4);
  const std::vector<std::int64_t> all = {0, 1, 2, 3};
  const auto found = again.batch(all);
  const auto expected = set.batch(all);
  for (const auto* name : {"offsets", "source", "target", "node_ids", "edge_values", "y"}) {
    EXPECT_TRUE(same(found[name], expected[name])) << name;
  }
  EXPECT_TRUE(find_graph_set(in_folder("deep/set.safetensors"), "key"));
  EXPECT_FALSE(find_graph_set(in_folder("deep/set.safetensors"), "another key"));
  EXPECT_FALSE(find_graph_set(in_folder("none.safetensors"), "key"));
}

TEST_F(GraphFiles, SayWhatIsWrongInThem) {
  const auto reason = [&](const char* name, const at::Tensor& tensor) {
    auto tensors = four_graphs().tensors();
    GraphTensors::each(tensors, [&](const std::string& own, at::Tensor& place) {
      if (own == name) place = tensor;
    });
    TensorFile file{.metadata = {{"name", "x"},
                                 {"task", "node_classes"},
                                 {"outputs", "4"},
                                 {"node_categories", "300 2"},
                                 {"splits", "train 0 4"}}};
    GraphTensors::each(tensors, [&](const char* own, const at::Tensor& place) {
      if (place.defined()) file.tensors.emplace_back(own, place);
    });
    save_safetensors(in_folder("x.safetensors"), file);
    return message_of([&] { (void)load_graph_set(in_folder("x.safetensors")); });
  };
  const auto offsets = four_graphs().tensors().offsets;
  EXPECT_EQ(reason("offsets", offsets), "");
  EXPECT_TRUE(has(reason("offsets", longs({0, 3, 2, 4, 6})), "x.safetensors\": tensor \"offsets\""));
  EXPECT_TRUE(has(reason("offsets", longs({0, 3, 2, 4, 6})), "do not fall, found 3 and then 2 at place 1"));
  EXPECT_TRUE(has(reason("offsets", longs({0, 3})), "expected offsets from 0 to 6, found 0 to 3"));
  EXPECT_TRUE(has(reason("offsets", offsets.to(at::kInt)), "tensor \"offsets\": expected Long [any], found Int"));
  EXPECT_TRUE(has(reason("source", at::Tensor()), "expected the tensor \"source\", found none"));
  EXPECT_TRUE(has(reason("source", torch::full({6}, 2, at::kByte)),
                  "graph 3: edge 0 leads from node 2; expected nodes 0 to 1"));
  EXPECT_TRUE(has(reason("in_edges", longs({0, 6})), "expected offsets from 0 to 1, found 0 to 6"));
  EXPECT_TRUE(
      has(reason("labels", torch::full({6}, 4, at::kByte)), "graph 0: row 0 has 4 in \"labels\"; expected 0 to 3"));
  static_cast<void>(file_with("cut.safetensors", "abc"));
  EXPECT_TRUE(has(message_of([&] { (void)load_graph_set(in_folder("cut.safetensors")); }), "cut.safetensors"));
}

}  // namespace
}  // namespace quest::data
