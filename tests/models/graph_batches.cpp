#include "tests/models/graph_batches.h"

#include <torch/torch.h>

#include <limits>
#include <optional>

#include "tests/nn/graphs.h"

namespace quest::testing {
namespace {

using models::GraphBatch;
using Features = at::Tensor GraphBatch::*;

constexpr Features kOfNodes[] = {&GraphBatch::node_ids, &GraphBatch::node_values, &GraphBatch::lap_vectors,
                                 &GraphBatch::lap_values, &GraphBatch::rwse};
constexpr Features kOfEdges[] = {&GraphBatch::edge_ids, &GraphBatch::edge_values};

at::Tensor random_ids(const std::vector<std::int64_t>& categories, std::int64_t rows) {
  if (categories.empty()) return {};
  std::vector<at::Tensor> columns;
  for (const std::int64_t count : categories) columns.push_back(at::randint(count, {rows}, at::kLong));
  return at::stack(columns, 1);
}

at::Tensor random_values(std::int64_t values, std::int64_t rows) {
  return values > 0 ? at::randn({rows, values}) : at::Tensor();
}

}  // namespace

GraphBatch one_graph(const models::GraphGpsOptions& options, std::int64_t nodes, std::int64_t edges) {
  GraphBatch batch{.offsets = at::tensor({std::int64_t{0}, nodes}, at::kInt),
                   .graph = at::zeros({nodes}, at::kLong),
                   .edges = random_edges(nodes, edges),
                   .node_ids = random_ids(options.node_categories(), nodes),
                   .node_values = random_values(options.node_values(), nodes),
                   .edge_ids = random_ids(options.edge_categories(), edges),
                   .edge_values = random_values(options.edge_values(), edges)};
  const std::int64_t terms = options.encoding_terms();
  if (options.encoding() == models::GraphEncoding::laplacian) {
    const at::Tensor missing = at::arange(terms) >= nodes;
    batch.lap_vectors = at::randn({nodes, terms}).masked_fill(missing, std::numeric_limits<double>::quiet_NaN());
    batch.lap_values = at::rand({1, terms}).expand({nodes, terms}).clone();
  } else if (options.encoding() == models::GraphEncoding::random_walk) {
    batch.rwse = at::rand({nodes, terms});
  }
  return batch;
}

GraphBatch joined(const std::vector<GraphBatch>& batches) {
  GraphBatch all;
  std::vector<at::Tensor> offsets = {at::zeros({1}, at::kInt)};
  std::vector<at::Tensor> graph;
  std::vector<at::Tensor> source;
  std::vector<at::Tensor> target;
  std::int64_t nodes = 0;
  std::int64_t graphs = 0;
  for (const GraphBatch& batch : batches) {
    offsets.push_back(batch.offsets.slice(0, 1) + nodes);
    graph.push_back(batch.graph + graphs);
    source.push_back(batch.edges.source + nodes);
    target.push_back(batch.edges.target + nodes);
    nodes += batch.graph.size(0);
    graphs += batch.offsets.size(0) - 1;
  }
  all.offsets = at::cat(offsets);
  all.graph = at::cat(graph);
  all.edges = nn::sorted_edges(at::cat(source), at::cat(target), nodes);
  const auto join = [&](Features features) {
    if (!(batches.front().*features).defined()) return;
    std::vector<at::Tensor> parts;
    for (const GraphBatch& batch : batches) parts.push_back(batch.*features);
    all.*features = at::cat(parts);
  };
  for (const Features features : kOfNodes) join(features);
  for (const Features features : kOfEdges) join(features);
  return all;
}

GraphBatch reordered(const GraphBatch& graph, const at::Tensor& order) {
  GraphBatch result = graph;
  const at::Tensor place = order.argsort();  // of each old node among the new ones
  const at::Tensor target = place.index_select(0, graph.edges.target);
  const at::Tensor edge_order = std::get<1>(target.sort(/*stable=*/std::optional<bool>(true), /*dim=*/0));
  const at::Tensor source = place.index_select(0, graph.edges.source);
  result.edges =
      nn::sorted_edges(source.index_select(0, edge_order), target.index_select(0, edge_order), order.size(0));
  for (const Features features : kOfNodes) {
    if ((graph.*features).defined()) result.*features = (graph.*features).index_select(0, order);
  }
  for (const Features features : kOfEdges) {
    if ((graph.*features).defined()) result.*features = (graph.*features).index_select(0, edge_order);
  }
  return result;
}

}  // namespace quest::testing
