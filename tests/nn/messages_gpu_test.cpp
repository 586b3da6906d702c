// Message passing on a GPU, or interpreted, held to the CPU's kernels.

#include "nn/kernels/messages_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "tests/nn/on_gpu.h"

namespace quest::nn::kernels {
namespace {

using testing::expect_near;
using testing::Floats;
using testing::normals;
using testing::OnGpu;
using Integers = std::vector<std::int64_t>;

// Edges sorted by target; some nodes have none.
struct Graph {
  Integers source;
  Integers target;
  Integers into;
  Integers by_source;
  Integers out_of;

  Graph(std::int64_t nodes, std::int64_t edges) {
    base::Random random(1, {100});
    for (std::int64_t e = 0; e < edges; ++e) {
      target.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes))));
      source.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes))));
      by_source.push_back(e);
    }
    std::ranges::sort(target);
    std::ranges::stable_sort(by_source, {}, [this](std::int64_t e) { return source[static_cast<std::size_t>(e)]; });
    Integers sources = source;
    std::ranges::sort(sources);
    for (std::int64_t v = 0; v <= nodes; ++v) {
      into.push_back(std::ranges::lower_bound(target, v) - target.begin());
      out_of.push_back(std::ranges::lower_bound(sources, v) - sources.begin());
    }
  }

  [[nodiscard]] EdgeLists lists() const {
    return {source.data(), target.data(), into.data(), by_source.data(), out_of.data()};
  }
};

struct GraphOnGpu {
  explicit GraphOnGpu(const Graph& graph)
      : source(graph.source),
        target(graph.target),
        into(graph.into),
        by_source(graph.by_source),
        out_of(graph.out_of) {}

  [[nodiscard]] EdgeLists lists() const {
    return {source.data(), target.data(), into.data(), by_source.data(), out_of.data()};
  }

  OnGpu<std::int64_t> source;
  OnGpu<std::int64_t> target;
  OnGpu<std::int64_t> into;
  OnGpu<std::int64_t> by_source;
  OnGpu<std::int64_t> out_of;
};

struct Shape {
  std::int64_t nodes;
  std::int64_t edges;
  std::int64_t dim;
};

class MessagesOnGpu : public ::testing::TestWithParam<Shape> {
 protected:
  MessagesOnGpu() : graph_(shape_.nodes, shape_.edges) {}
  void SetUp() override {
    if (!testing::has_gpu()) GTEST_SKIP() << "skipped: no GPU";
  }

  [[nodiscard]] static std::size_t count(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
  }

  Shape shape_ = GetParam();
  Graph graph_;
  const GpuMessages& gpu_ = *gpu_messages();
};

TEST_P(MessagesOnGpu, GineIsThatOfTheCpu) {
  const auto [nodes, edges, dim] = shape_;
  const Floats x = normals(nodes * dim, 1);
  const Floats features = normals(edges * dim, 2);
  const Floats grad = normals(nodes * dim, 3);
  Floats sums(x.size());
  Floats grad_features(features.size());
  Floats grad_x(x.size());
  const GineProblem problem{graph_.lists(), dim, x.data(), features.data()};
  gine_sums(problem, sums.data(), 0, nodes);
  gine_feature_gradients(problem, grad.data(), grad_features.data(), 0, nodes);
  gine_node_gradients(problem, grad.data(), grad_features.data(), grad_x.data(), 0, nodes);

  const GraphOnGpu graph(graph_);
  const OnGpu<float> x_there(x);
  const OnGpu<float> features_there(features);
  const OnGpu<float> grad_there(grad);
  const OnGpu<float> sums_there(x.size());
  const OnGpu<float> grad_features_there(features.size());
  const OnGpu<float> grad_x_there(x.size());
  const GineProblem there{graph.lists(), dim, x_there.data(), features_there.data()};
  gpu_.gine_sums(there, sums_there.data(), nodes, nullptr);
  gpu_.gine_feature_gradients(there, grad_there.data(), grad_features_there.data(), nodes, nullptr);
  gpu_.gine_node_gradients(there, grad_there.data(), grad_features_there.data(), grad_x_there.data(), nodes, nullptr);
  expect_near(sums_there.values(), sums, "sums");
  expect_near(grad_features_there.values(), grad_features, "gradients of features");
  expect_near(grad_x_there.values(), grad_x, "gradients of nodes");
}

// What GatedGCN computes and is given, in the memory of either.
template <typename Memory>
struct Gated {
  Gated(std::int64_t nodes, std::int64_t edges, std::int64_t dim)
      : projections(normals(nodes * kGatedProjections * dim, 1)),
        terms(normals(edges * dim, 2)),
        grad(normals(nodes * dim, 3)),
        weighted(normals(nodes * dim, 4)),
        grad_gates(normals(edges * dim, 5)),
        gates(Floats(terms_count(edges, dim))),
        average(Floats(terms_count(nodes, dim))),
        inverse(Floats(terms_count(nodes, dim))),
        to(Floats(terms_count(nodes, dim))),
        grad_terms(Floats(terms_count(edges, dim))),
        grad_projections(Floats(terms_count(nodes * kGatedProjections, dim))) {}

  static std::size_t terms_count(std::int64_t rows, std::int64_t dim) { return static_cast<std::size_t>(rows * dim); }

  GatedResults results() { return {gates.data(), average.data(), inverse.data(), to.data()}; }
  GatedGradients gradients(bool gates_are_read) {
    return {gates.data(),
            average.data(),
            grad.data(),
            weighted.data(),
            gates_are_read ? grad_gates.data() : nullptr,
            grad_terms.data(),
            grad_projections.data()};
  }

  Memory projections, terms, grad, weighted, grad_gates;
  Memory gates, average, inverse, to, grad_terms, grad_projections;
};

TEST_P(MessagesOnGpu, GatedAveragesAreThoseOfTheCpu) {
  const auto [nodes, edges, dim] = shape_;
  for (const bool gates_are_read : {true, false}) {
    Gated<Floats> here(nodes, edges, dim);
    const GatedProblem problem{graph_.lists(), dim, here.projections.data()};
    gated_averages(problem, here.terms.data(), here.results(), 0, nodes);
    gated_target_gradients(problem, here.gradients(gates_are_read), 0, nodes);
    gated_source_gradients(problem, here.gradients(gates_are_read), 0, nodes);

    const GraphOnGpu graph(graph_);
    Gated<OnGpu<float>> there(nodes, edges, dim);
    const GatedProblem problem_there{graph.lists(), dim, there.projections.data()};
    gpu_.gated_averages(problem_there, there.terms.data(), there.results(), nodes, nullptr);
    gpu_.gated_target_gradients(problem_there, there.gradients(gates_are_read), nodes, nullptr);
    gpu_.gated_source_gradients(problem_there, there.gradients(gates_are_read), nodes, nullptr);
    expect_near(there.gates.values(), here.gates, "gates");
    expect_near(there.average.values(), here.average, "averages");
    expect_near(there.inverse.values(), here.inverse, "inverse sums");
    expect_near(there.to.values(), here.to, "results");
    expect_near(there.grad_terms.values(), here.grad_terms, "gradients of terms");
    expect_near(there.grad_projections.values(), here.grad_projections, "gradients of projections");
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MessagesOnGpu,
                         ::testing::Values(Shape{40, 300, 48}, Shape{7, 20, 13}, Shape{300, 900, 1}, Shape{5, 0, 16},
                                           Shape{1, 64, 100}));

TEST(NanOnGpu, StaysWhereItIs) {
  if (!testing::has_gpu()) GTEST_SKIP() << "skipped: no GPU";
  const Graph graph(6, 12);
  const GraphOnGpu there(graph);
  Floats x = normals(6 * 4, 1);
  x[static_cast<std::size_t>(graph.source.front()) * 4 + 1] = NAN;
  const OnGpu<float> x_there(x);
  const OnGpu<float> features(normals(12 * 4, 2));
  const OnGpu<float> sums(24);
  gpu_messages()->gine_sums({there.lists(), 4, x_there.data(), features.data()}, sums.data(), 6, nullptr);
  Floats expected(24);
  const Floats features_here = normals(12 * 4, 2);
  gine_sums({graph.lists(), 4, x.data(), features_here.data()}, expected.data(), 0, 6);
  const Floats values = sums.values();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(std::isnan(values[i]), std::isnan(expected[i])) << i;
}

}  // namespace
}  // namespace quest::nn::kernels
