#include "data/encodings/graph_encodings.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/encodings/symmetric_eigen.h"

namespace quest::data {
namespace {

// The edges of one graph by target, nodes numbered from 0.
struct InEdges {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> source;

  [[nodiscard]] std::size_t nodes() const { return offsets.size() - 1; }
};

class InEdgesOf {
 public:
  explicit InEdgesOf(const GraphTensors& tensors)
      : offsets_(tensors.offsets.const_data_ptr<std::int64_t>()),
        in_edges_(tensors.in_edges.const_data_ptr<std::int64_t>()),
        source_(tensors.source) {}

  [[nodiscard]] std::int64_t first_node(std::int64_t graph) const { return offsets_[graph]; }

  InEdges operator()(std::int64_t graph) const {
    const auto* begin = in_edges_ + offsets_[graph];
    const auto* end = in_edges_ + offsets_[graph + 1];
    InEdges result{.offsets = {begin, end + 1}, .source = {}};
    for (auto& offset : result.offsets) offset -= *begin;
    switch (source_.scalar_type()) {
      case at::kByte:
        copy<std::uint8_t>(*begin, *end, result.source);
        break;
      case at::kShort:
        copy<std::int16_t>(*begin, *end, result.source);
        break;
      default:
        copy<std::int32_t>(*begin, *end, result.source);
    }
    return result;
  }

 private:
  template <typename Small>
  void copy(std::int64_t first, std::int64_t last, std::vector<std::int64_t>& to) const {
    const auto* all = source_.const_data_ptr<Small>();
    to.assign(all + first, all + last);
  }

  const std::int64_t* offsets_;
  const std::int64_t* in_edges_;
  const at::Tensor& source_;
};

std::vector<double> laplacian_of(const InEdges& graph) {
  const auto n = graph.nodes();
  std::vector<double> matrix(n * n, 0.0);
  for (std::size_t target = 0; target < n; ++target) {
    for (auto edge = graph.offsets[target]; edge < graph.offsets[target + 1]; ++edge) {
      const auto source = static_cast<std::size_t>(graph.source[static_cast<std::size_t>(edge)]);
      double& entry = matrix[source * n + target];
      if (source == target || entry != 0.0) continue;
      entry = -1.0;
      matrix[target * n + source] = -1.0;
      matrix[source * n + source] += 1.0;
      matrix[target * n + target] += 1.0;
    }
  }
  return matrix;
}

// [nodes, steps] of one graph.
void walk(const InEdges& graph, std::int64_t steps, float* result) {
  const auto n = graph.nodes();
  std::vector<double> share(n, 0.0);  // of a node's probability that each of its edges takes along
  for (const auto source : graph.source) share[static_cast<std::size_t>(source)] += 1.0;
  for (auto& value : share) value = value > 0.0 ? 1.0 / value : 0.0;
  std::vector<double> at_node(n);
  std::vector<double> leaving(n);
  for (std::size_t start = 0; start < n; ++start) {
    std::ranges::fill(at_node, 0.0);
    at_node[start] = 1.0;
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::size_t node = 0; node < n; ++node) leaving[node] = at_node[node] * share[node];
      for (std::size_t node = 0; node < n; ++node) {
        double sum = 0.0;
        for (auto edge = graph.offsets[node]; edge < graph.offsets[node + 1]; ++edge) {
          sum += leaving[static_cast<std::size_t>(graph.source[static_cast<std::size_t>(edge)])];
        }
        at_node[node] = sum;
      }
      *result++ = static_cast<float>(at_node[start]);
    }
  }
}

void expect_positive(std::int64_t value, const char* what) {
  if (value > 0) return;
  throw std::invalid_argument(std::string("expected at least one ") + what + ", got " + std::to_string(value));
}

}  // namespace

LaplacianEncoding laplacian_encoding(const GraphSet& set, std::int64_t terms, const Progress& progress) {
  expect_positive(terms, "eigenvector");
  constexpr auto kNone = std::numeric_limits<float>::quiet_NaN();
  LaplacianEncoding result{.vectors = at::full({set.nodes(), terms}, kNone, at::kFloat),
                           .values = at::full({set.size(), terms}, kNone, at::kFloat)};
  auto* vectors = result.vectors.mutable_data_ptr<float>();
  auto* values = result.values.mutable_data_ptr<float>();
  const InEdgesOf edges_of(set.tensors());
  for_each_graph(set.size(), progress, [&](std::int64_t graph) {
    const auto edges = edges_of(graph);
    const auto n = edges.nodes();
    const auto pairs = smallest_eigenpairs(laplacian_of(edges), n, static_cast<std::size_t>(terms));
    for (std::size_t term = 0; term < pairs.values.size(); ++term) {
      values[graph * terms + static_cast<std::int64_t>(term)] = static_cast<float>(std::max(pairs.values[term], 0.0));
      float* own = vectors + edges_of.first_node(graph) * terms + term;
      for (std::size_t node = 0; node < n; ++node, own += terms) {
        *own = static_cast<float>(pairs.vectors[term * n + node]);
      }
    }
  });
  return result;
}

at::Tensor random_walk_encoding(const GraphSet& set, std::int64_t steps, const Progress& progress) {
  expect_positive(steps, "step of the walk");
  auto result = at::zeros({set.nodes(), steps}, at::kFloat);
  auto* rows = result.mutable_data_ptr<float>();
  const InEdgesOf edges_of(set.tensors());
  for_each_graph(set.size(), progress,
                 [&](std::int64_t graph) { walk(edges_of(graph), steps, rows + edges_of.first_node(graph) * steps); });
  return result;
}

}  // namespace quest::data
