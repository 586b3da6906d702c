// GINE and GatedGCN against formulas with dense adjacency matrices in float64.

#include "quest/nn/message_passing.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "tests/nn/graphs.h"
#include "tests/nn/plain_attention.h"
#include "tests/nn/plain_graphs.h"
#include "tests/nn/threads.h"
#include "tests/testing/finite_difference.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using nn::GraphEdges;

constexpr Bound kBound{.of_largest = 5e-6};
// Of terms of about 1, which may cancel.
constexpr Bound kGradientBound{.of_largest = 2e-5, .absolute = 1e-6};

struct Graph {
  std::string name;
  std::int64_t nodes;
  std::int64_t edges;
  std::int64_t dim;
};

std::string graph_name(const ::testing::TestParamInfo<Graph>& info) { return info.param.name; }

GraphEdges star(std::int64_t nodes) {
  const at::Tensor leaves = at::arange(1, nodes, at::kLong);
  return edges_of(at::cat({leaves, at::zeros_like(leaves)}), at::cat({at::zeros_like(leaves), leaves}), nodes);
}

at::Tensor leaf(std::int64_t rows, std::int64_t columns, at::ScalarType type = at::kFloat) {
  return at::randn({rows, columns}, type).requires_grad_();
}

at::Tensor wide_leaf(const at::Tensor& x) { return x.detach().to(at::kDouble).requires_grad_(); }

class Messages : public ::testing::TestWithParam<Graph> {
 protected:
  void SetUp() override { torch::manual_seed(1); }

  [[nodiscard]] static GraphEdges edges() { return random_edges(GetParam().nodes, GetParam().edges); }
};

TEST_P(Messages, GineIsTheFormula) {
  const auto [name, nodes, edge_count, dim] = GetParam();
  const GraphEdges graph = edges();
  const at::Tensor x = leaf(nodes, dim);
  const at::Tensor e = leaf(edge_count, dim);
  const at::Tensor wide_x = wide_leaf(x);
  const at::Tensor wide_e = wide_leaf(e);
  const at::Tensor out = nn::gine_sums(x, e, graph);
  const at::Tensor exact = plain_gine_sums(wide_x, wide_e, graph);
  EXPECT_TRUE(close(out, exact, kBound));
  const at::Tensor grad = at::randn_like(out);
  out.backward(grad);
  exact.backward(grad.to(at::kDouble));
  EXPECT_TRUE(close(x.grad(), wide_x.grad(), kGradientBound));
  EXPECT_TRUE(close(e.grad(), wide_e.grad(), kGradientBound));
}

TEST_P(Messages, GatedAveragesAreTheFormula) {
  const auto [name, nodes, edge_count, dim] = GetParam();
  const GraphEdges graph = edges();
  for (const bool gates_are_read : {true, false}) {
    const at::Tensor x = leaf(nodes, 4 * dim);
    const at::Tensor e = leaf(edge_count, dim);
    const at::Tensor wide_x = wide_leaf(x);
    const at::Tensor wide_e = wide_leaf(e);
    const nn::GatedAverages out = nn::gated_averages(x, e, graph);
    const nn::GatedAverages exact = plain_gated_averages(wide_x, wide_e, graph);
    EXPECT_TRUE(close(out.nodes, exact.nodes, kBound));
    EXPECT_TRUE(close(out.gates, exact.gates, kBound));
    const at::Tensor grad = at::randn_like(out.nodes);
    const at::Tensor grad_gates = gates_are_read ? at::randn_like(out.gates) : at::zeros_like(out.gates);
    const auto loss = [&](const nn::GatedAverages& result, at::ScalarType type) {
      const at::Tensor sum = (result.nodes * grad.to(type)).sum();
      return gates_are_read ? sum + (result.gates * grad_gates.to(type)).sum() : sum;
    };
    loss(out, at::kFloat).backward();
    loss(exact, at::kDouble).backward();
    EXPECT_TRUE(close(x.grad(), wide_x.grad(), kGradientBound));
    EXPECT_TRUE(close(e.grad(), wide_e.grad(), kGradientBound));
  }
}

INSTANTIATE_TEST_SUITE_P(Nn, Messages,
                         ::testing::Values(Graph{"few", 7, 20, 5}, Graph{"whole_vectors", 40, 300, 48},
                                           Graph{"odd_width", 40, 300, 52}, Graph{"one_column", 9, 30, 1},
                                           Graph{"no_edge", 6, 0, 12}, Graph{"one_node", 1, 3, 12}),
                         graph_name);

TEST(MessagePassing, HasTheDerivativesOfItsFormulaInFloat64) {
  torch::manual_seed(2);
  const GraphEdges graph = random_edges(6, 14);
  const auto gine = [&](const std::vector<at::Tensor>& x) { return nn::gine_sums(x[0], x[1], graph); };
  EXPECT_TRUE(gradcheck(gine, {leaf(6, 3, at::kDouble), leaf(14, 3, at::kDouble)}));
  const auto gated = [&](const std::vector<at::Tensor>& x) {
    const nn::GatedAverages averages = nn::gated_averages(x[0], x[1], graph);
    return at::cat({averages.nodes, averages.gates});
  };
  EXPECT_TRUE(gradcheck(gated, {leaf(6, 12, at::kDouble), leaf(14, 3, at::kDouble)}));
  EXPECT_TRUE(gradgradcheck(gated, {leaf(6, 12, at::kDouble), leaf(14, 3, at::kDouble)}));
}

TEST(MessagePassing, SumsThousandsOfEdgesOfANode) {
  torch::manual_seed(3);
  const GraphEdges graph = star(5000);
  const at::Tensor x = at::randn({5000, 32});
  const at::Tensor e = at::randn({graph.source.size(0), 8});
  const nn::GatedAverages exact = plain_gated_averages(x.to(at::kDouble), e.to(at::kDouble), graph);
  EXPECT_TRUE(close(nn::gated_averages(x, e, graph).nodes, exact.nodes, {.of_largest = 1e-5}));
}

TEST(MessagePassing, NoThreadAndNoRunShows) {
  torch::manual_seed(4);
  const GraphEdges graph = random_edges(500, 9000);
  const at::Tensor x = at::randn({500, 4 * 20});
  const at::Tensor e = at::randn({9000, 20});
  expect_same_for_any_threads([&] {
    const at::Tensor nodes = x.clone().requires_grad_();
    const at::Tensor terms = e.clone().requires_grad_();
    const nn::GatedAverages averages = nn::gated_averages(nodes, terms, graph);
    (averages.nodes.square().sum() + averages.gates.sin().sum()).backward();
    const at::Tensor own = x.narrow(1, 0, 20).contiguous().requires_grad_();
    const at::Tensor features = e.clone().requires_grad_();
    const at::Tensor sums = nn::gine_sums(own, features, graph);
    sums.square().sum().backward();
    return std::vector<at::Tensor>{averages.nodes, nodes.grad(), terms.grad(), sums, own.grad(), features.grad()};
  });
}

TEST(MessagePassing, LargeGatesSaturateAndNaNStaysNaN) {
  const GraphEdges graph = edges_of(at::tensor({0, 0}, at::kLong), at::tensor({1, 2}, at::kLong), 3);
  const at::Tensor x = at::ones({3, 4});
  const at::Tensor terms = at::tensor({300.0F, -300.0F}).unsqueeze(1);
  const at::Tensor out = nn::gated_averages(x, terms, graph).nodes;
  EXPECT_TRUE(close(out, at::tensor({1.0, 2.0, 1.0}, at::kDouble).unsqueeze(1), {.of_largest = 2e-6}));
  const at::Tensor poisoned = at::tensor({0.0F, std::numeric_limits<float>::quiet_NaN()}).unsqueeze(1);
  const at::Tensor nan = at::isnan(nn::gated_averages(x, poisoned, graph).nodes).squeeze(1);
  EXPECT_TRUE(identical(nan, at::tensor({0, 0, 1}, at::kInt).to(at::kBool)));
  EXPECT_TRUE(identical(at::isnan(nn::gine_sums(at::ones({3, 1}), poisoned, graph)).squeeze(1), nan));
}

TEST(GatedGcn, IsTheFormula) {
  torch::manual_seed(5);
  nn::GatedGcn layer(nn::GatedGcnOptions(12));
  const GraphEdges graph = random_edges(30, 150);
  const nn::GraphFeatures given{.nodes = leaf(30, 12), .edges = leaf(150, 12)};
  const nn::GraphFeatures wide{.nodes = wide_leaf(given.nodes), .edges = wide_leaf(given.edges)};
  const Weights weights = wide_weights(*layer);
  const nn::GraphFeatures out = layer->forward(given, graph);
  const nn::GraphFeatures exact = plain_gated_gcn(weights, "", wide, graph);
  EXPECT_TRUE(close(out.nodes, exact.nodes, kBound));
  EXPECT_TRUE(close(out.edges, exact.edges, kBound));
  (out.nodes.sin().sum() + out.edges.sin().sum()).backward();
  (exact.nodes.sin().sum() + exact.edges.sin().sum()).backward();
  EXPECT_TRUE(close(given.nodes.grad(), wide.nodes.grad(), {.of_largest = 1e-4}));
  EXPECT_TRUE(close(given.edges.grad(), wide.edges.grad(), {.of_largest = 1e-4}));
  layer->eval();
  const nn::GraphFeatures unread = layer->forward(given, graph, /*edges_are_read=*/false);
  EXPECT_FALSE(unread.edges.defined());
  EXPECT_TRUE(identical(unread.nodes, layer->forward(given, graph).nodes));
}

TEST(Gine, IsTheFormula) {
  torch::manual_seed(6);
  nn::Gine layer(12);
  const GraphEdges graph = random_edges(30, 150);
  const at::Tensor x = at::randn({30, 12});
  const at::Tensor e = at::randn({150, 12});
  const at::Tensor exact =
      plain_gine(wide_weights(*layer), "", {.nodes = x.to(at::kDouble), .edges = e.to(at::kDouble)}, graph);
  EXPECT_TRUE(close(layer->forward(x, e, graph), exact, kBound));
}

TEST(GraphEdges, RefuseWhatKernelsWouldFollowBlindly) {
  const auto numbers = [](std::initializer_list<std::int64_t> list) {
    return at::tensor(std::vector(list), at::kLong);
  };
  EXPECT_THROW(static_cast<void>(nn::sorted_edges(numbers({0, 1}), numbers({1, 0}), 2)), c10::Error);
  EXPECT_THROW(static_cast<void>(nn::sorted_edges(numbers({0, 2}), numbers({0, 1}), 2)), c10::Error);
  EXPECT_THROW(static_cast<void>(nn::sorted_edges(numbers({0, -1}), numbers({0, 1}), 2)), c10::Error);
  GraphEdges edges = nn::sorted_edges(numbers({0, 1}), numbers({0, 1}), 2);
  EXPECT_NO_THROW(nn::check_edges(edges, 2));
  EXPECT_THROW(nn::check_edges(edges, 1), c10::Error);
  edges.edge_offsets = numbers({0, 3, 2});
  EXPECT_THROW(nn::check_edges(edges, 2), c10::Error);
  edges.edge_offsets = numbers({0, 1, 2});
  edges.by_source = numbers({0, 2});
  EXPECT_THROW(nn::check_edges(edges, 2), c10::Error);
  EXPECT_THROW(static_cast<void>(nn::gated_averages(at::zeros({2, 7}), at::zeros({2, 2}), edges)), c10::Error);
}

}  // namespace
}  // namespace quest::testing
