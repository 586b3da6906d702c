// Positional encodings against dense solvers of torch in float64.

#include "data/encodings/graph_encodings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "data/encodings/symmetric_eigen.h"
#include "data/sets/encoded_graphs.h"
#include "tests/data/small_graphs.h"
#include "tests/testing/folder_fixture.h"

namespace quest::data {
namespace {

using quest::testing::Edges;
using quest::testing::graph_of;
using quest::testing::random_graph;
using quest::testing::set_of;

at::Tensor adjacency(const Graph& graph) {
  auto matrix = torch::zeros({graph.nodes, graph.nodes}, at::kDouble);
  return matrix.index_put_({graph.source, graph.target}, torch::ones({graph.source.numel()}, at::kDouble), true);
}

at::Tensor laplacian(const Graph& graph) {
  const auto once = adjacency(graph);
  auto matrix = (once + once.t()).gt(0).to(at::kDouble);
  matrix.fill_diagonal_(0);
  return matrix.sum(0).diag() - matrix;
}

// Paths, cycles, stars and complete graphs have eigenvalues that stand several times, so have graphs in pieces.
std::vector<Graph> many_graphs() {
  torch::manual_seed(1);
  std::vector<Graph> graphs = {graph_of(0, {}), graph_of(1, {}), graph_of(1, {{0, 0}}), graph_of(7, {})};
  for (const std::int64_t n : {2, 5, 12, 33}) {
    Edges path;
    Edges star;
    Edges cycle;
    Edges complete;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i + 1 < n) path.emplace_back(i, i + 1);
      if (i > 0) star.emplace_back(0, i);
      cycle.emplace_back(i, (i + 1) % n);
      for (std::int64_t j = 0; j < i; ++j) complete.emplace_back(i, j);
    }
    for (const auto& edges : {path, star, cycle, complete}) graphs.push_back(graph_of(n, edges));
  }
  for (const double probability : {0.02, 0.1, 0.4, 0.9}) {
    for (const std::int64_t n : {3, 20, 61, 150}) graphs.push_back(random_graph(n, probability));
  }
  return graphs;
}

// Eigenvectors are compared as what they project on, eigenvalue by eigenvalue: in a space of several dimensions any
// basis will do, and where the last one is cut, any vectors inside.
void expect_projectors(const at::Tensor& found, const at::Tensor& values, const at::Tensor& vectors, double allowed) {
  constexpr double kEqual = 1e-5;
  const auto terms = found.size(1);
  const auto* value = values.const_data_ptr<double>();
  for (std::int64_t first = 0; first < terms;) {
    auto last = first + 1;
    while (last < values.size(0) && value[last] - value[last - 1] < kEqual) ++last;
    const auto basis = vectors.narrow(1, first, last - first);
    const auto own = found.narrow(1, first, std::min(last, terms) - first);
    EXPECT_LE((basis.matmul(basis.t()).matmul(own) - own).abs().max().item<double>(), allowed);
    if (last <= terms) {
      EXPECT_LE((own.matmul(own.t()) - basis.matmul(basis.t())).abs().max().item<double>(), allowed);
    }
    first = last;
  }
}

TEST(SymmetricEigen, AgreesWithADenseSolver) {
  for (const auto& graph : many_graphs()) {
    if (graph.nodes == 0) continue;
    const auto matrix = laplacian(graph);
    const auto n = static_cast<std::size_t>(graph.nodes);
    const auto* entries = matrix.const_data_ptr<double>();
    const auto pairs = smallest_eigenpairs({entries, entries + n * n}, n, 10);
    const auto count = std::min<std::int64_t>(graph.nodes, 10);
    ASSERT_EQ(std::ssize(pairs.values), count);
    const auto [values, vectors] = torch::linalg_eigh(matrix);
    const double size = std::max(1.0, values.abs().max().item<double>());
    const auto found = torch::tensor(pairs.vectors, at::kDouble).view({count, graph.nodes}).t();
    EXPECT_LE((torch::tensor(pairs.values, at::kDouble) - values.slice(0, 0, count)).abs().max().item<double>(),
              1e-14 * size * std::sqrt(static_cast<double>(n)));
    EXPECT_LE((found.t().matmul(found) - torch::eye(count, at::kDouble)).abs().max().item<double>(), 1e-13);
    // A vector is as exact as its distance to the other eigenvalues allows.
    expect_projectors(found, values, vectors, 1e-11 * size);
  }
}

TEST(SymmetricEigen, TakesAnySymmetricMatrix) {
  torch::manual_seed(2);
  for (const std::int64_t n : {1, 2, 17, 64}) {
    auto matrix = torch::randn({n, n}, at::kDouble);
    matrix = (matrix + matrix.t()).contiguous();
    const auto* entries = matrix.const_data_ptr<double>();
    const auto pairs = smallest_eigenpairs({entries, entries + n * n}, static_cast<std::size_t>(n), 64);
    EXPECT_TRUE(
        torch::tensor(pairs.values, at::kDouble).allclose(std::get<0>(torch::linalg_eigh(matrix)), 1e-12, 1e-12));
  }
  EXPECT_THROW((void)smallest_eigenpairs({std::numeric_limits<double>::quiet_NaN()}, 1, 1), std::invalid_argument);
}

TEST(LaplacianEncoding, IsThatOfEveryGraph) {
  constexpr std::int64_t kTerms = 8;
  const auto graphs = many_graphs();
  const auto encoding = laplacian_encoding(set_of(graphs), kTerms);
  ASSERT_EQ(encoding.values.sizes(), (std::vector<std::int64_t>{std::ssize(graphs), kTerms}));
  EXPECT_GE(encoding.values.nan_to_num(0.0).min().item<float>(), 0.0F);
  std::int64_t node = 0;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const auto n = graphs[i].nodes;
    const auto own = encoding.vectors.narrow(0, node, n);
    const auto there = std::min(n, kTerms);
    const auto own_values = encoding.values[static_cast<std::int64_t>(i)];
    EXPECT_TRUE(own.narrow(1, there, kTerms - there).isnan().all().item<bool>());
    EXPECT_TRUE(own_values.narrow(0, there, kTerms - there).isnan().all().item<bool>());
    node += n;
    if (n == 0) continue;
    const auto [values, vectors] = torch::linalg_eigh(laplacian(graphs[i]));
    const auto expected = values.slice(0, 0, there).clamp_min(0).to(at::kFloat);
    EXPECT_TRUE(own_values.narrow(0, 0, there).allclose(expected, 1e-6, 1e-6));
    expect_projectors(own.narrow(1, 0, there).to(at::kDouble), values, vectors, 1e-6);
  }
}

TEST(LaplacianEncoding, TakesEdgesOfEitherDirectionOnce) {
  const auto directed = laplacian_encoding(set_of({graph_of(4, {{0, 1}, {2, 1}, {2, 3}, {3, 0}, {0, 0}})}), 4);
  const auto both = laplacian_encoding(
      set_of({graph_of(4, {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 2}, {3, 0}, {0, 3}, {3, 0}})}), 4);
  EXPECT_TRUE(directed.values.equal(both.values));
  EXPECT_TRUE(directed.vectors.equal(both.vectors));
}

TEST(RandomWalkEncoding, IsTheDiagonalOfPowers) {
  constexpr std::int64_t kSteps = 20;
  auto graphs = many_graphs();
  graphs.push_back(graph_of(4, {{0, 1}, {1, 2}, {2, 0}, {2, 2}, {2, 3}}));  // a walk can be lost
  const auto encoding = random_walk_encoding(set_of(graphs), kSteps);
  std::int64_t node = 0;
  for (const auto& graph : graphs) {
    const auto edges = adjacency(graph);
    const auto out = edges.sum(1, /*keepdim=*/true);
    const auto step = torch::where(out.gt(0), edges / out, torch::zeros_like(edges));
    auto power = torch::eye(graph.nodes, at::kDouble);
    for (std::int64_t k = 0; k < kSteps; ++k) {
      power = power.matmul(step);
      const auto own = encoding.narrow(0, node, graph.nodes).select(1, k).to(at::kDouble);
      EXPECT_TRUE(own.allclose(power.diag(), 1e-6, 1e-12)) << graph.nodes << " nodes, step " << k + 1;
    }
    node += graph.nodes;
  }
}

TEST(GraphEncodings, HaveTheSameBitsOnAnyNumberOfThreads) {
  const auto set = set_of(many_graphs());
  const auto threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto laplacian_of_one = laplacian_encoding(set, 6);
  const auto walk_of_one = random_walk_encoding(set, 6);
  at::set_num_threads(3);
  const auto laplacian_of_three = laplacian_encoding(set, 6);
  EXPECT_TRUE(laplacian_of_one.vectors.nan_to_num(9).equal(laplacian_of_three.vectors.nan_to_num(9)));
  EXPECT_TRUE(laplacian_of_one.values.nan_to_num(9).equal(laplacian_of_three.values.nan_to_num(9)));
  EXPECT_TRUE(walk_of_one.equal(random_walk_encoding(set, 6)));
  at::set_num_threads(threads);
}

TEST(GraphEncodings, SayHowFarTheyAre) {
  std::vector<double> heard;
  (void)random_walk_encoding(set_of(std::vector<Graph>(600, graph_of(1, {}))), 2,
                             [&](double done) { heard.push_back(done); });
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(heard));
  EXPECT_EQ(heard.back(), 1.0);
  EXPECT_THROW((void)laplacian_encoding(set_of({graph_of(1, {})}), 0), std::invalid_argument);
}

class EncodedGraphs : public quest::testing::FolderFixture {
 protected:
  EncodedGraphs() { ::setenv("XDG_CACHE_HOME", in_folder("cache").c_str(), 1); }
  ~EncodedGraphs() override { ::unsetenv("XDG_CACHE_HOME"); }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(in_folder("cache/quest/encodings")), {}));
  }
};

TEST_F(EncodedGraphs, AreComputedOncePerSetAndOptions) {
  const auto set = set_of({graph_of(5, {{0, 1}, {1, 2}}), graph_of(2, {{0, 1}})});
  int computed = 0;
  const auto encode = [&](const GraphSet& which, std::int64_t terms, std::int64_t steps) {
    return with_cached_encodings(which, {.laplacian_terms = terms, .walk_steps = steps}, [&](double) { ++computed; });
  };
  const auto first = encode(set, 3, 4);
  EXPECT_EQ(computed, 2);
  EXPECT_EQ(files(), 2U);
  const auto second = encode(set, 3, 4);
  EXPECT_EQ(computed, 2);
  const auto batch = first.batch(GraphRange{0, 2});
  const auto again = second.batch(GraphRange{0, 2});
  EXPECT_EQ(batch["lap_vectors"].sizes(), (std::vector<std::int64_t>{7, 3}));
  EXPECT_EQ(batch["rwse"].sizes(), (std::vector<std::int64_t>{7, 4}));
  for (const auto* name : {"lap_vectors", "lap_values", "rwse"}) {
    EXPECT_TRUE(batch[name].nan_to_num(9).equal(again[name].nan_to_num(9))) << name;
  }
  // Values of a graph stand at each of its nodes.
  EXPECT_TRUE(batch["lap_values"].narrow(0, 0, 5).equal(first.tensors().lap_values[0].expand({5, 3})));
  EXPECT_TRUE(batch["lap_values"][6][2].isnan().item<bool>()) << "two nodes have two eigenvectors";
  (void)encode(set, 2, 0);
  EXPECT_EQ(computed, 3);
  (void)encode(set_of({graph_of(5, {{0, 1}, {1, 3}}), graph_of(2, {{0, 1}})}), 2, 0);
  EXPECT_EQ(computed, 4) << "other edges, other file";
  EXPECT_FALSE(encode(set, 0, 0).tensors().rwse.defined());
}

TEST_F(EncodedGraphs, AreComputedAgainWhereTheFileIsBroken) {
  const auto set = set_of({graph_of(3, {{0, 1}})});
  const auto whole = with_cached_encodings(set, {.walk_steps = 2});
  for (const auto& file : std::filesystem::directory_iterator(in_folder("cache/quest/encodings"))) {
    std::filesystem::resize_file(file.path(), 20);
  }
  EXPECT_TRUE(with_cached_encodings(set, {.walk_steps = 2}).tensors().rwse.equal(whole.tensors().rwse));
}

}  // namespace
}  // namespace quest::data
