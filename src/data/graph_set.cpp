#include "data/graph_set.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <numeric>
#include <stdexcept>

#include "data/graph_check.h"

namespace quest::data {
namespace {

std::int64_t number_at(const at::Tensor& numbers, std::int64_t place) {
  return numbers.const_data_ptr<std::int64_t>()[place];
}

std::int64_t columns_of(const at::Tensor& rows) { return rows.defined() ? rows.size(1) : 0; }

at::Tensor slice(const at::Tensor& rows, std::int64_t first, std::int64_t last) {
  return rows.defined() ? rows.narrow(0, first, last - first) : rows;
}

}  // namespace

GraphSet::GraphSet(GraphSchema schema, Splits splits, GraphTensors tensors)
    : schema_(std::move(schema)), splits_(std::move(splits)), tensors_(std::move(tensors)) {
  check_graph_tensors(schema_, tensors_);
  check_splits(splits_, size());
}

GraphRange GraphSet::split(std::string_view name) const {
  std::string known;
  for (const auto& [own, range] : splits_) {
    if (own == name) return range;
    known += (known.empty() ? "" : ", ") + own;
  }
  throw std::out_of_range("the data set " + schema_.name + " has no split \"" + std::string(name) + "\"; it has " +
                          (known.empty() ? "none" : known));
}

std::int64_t GraphSet::nodes_of(std::int64_t graph) const {
  return number_at(tensors_.offsets, graph + 1) - number_at(tensors_.offsets, graph);
}

std::int64_t GraphSet::node_values() const { return columns_of(tensors_.node_values); }
std::int64_t GraphSet::edge_values() const { return columns_of(tensors_.edge_values); }

Graph GraphSet::graph(std::int64_t number) const {
  const auto node = number_at(tensors_.offsets, number);
  const auto node_end = number_at(tensors_.offsets, number + 1);
  const auto edge = number_at(tensors_.in_edges, node);
  const auto edge_end = number_at(tensors_.in_edges, node_end);
  const auto in_degrees = tensors_.in_edges.slice(0, node, node_end + 1).diff();
  Graph graph{.nodes = node_end - node,
              .source = slice(tensors_.source, edge, edge_end).to(at::kInt),
              .target = at::arange(node_end - node, at::kInt).repeat_interleave(in_degrees),
              .node_ids = slice(tensors_.node_ids, node, node_end),
              .node_values = slice(tensors_.node_values, node, node_end),
              .edge_ids = slice(tensors_.edge_ids, edge, edge_end),
              .edge_values = slice(tensors_.edge_values, edge, edge_end)};
  if (schema_.task == GraphTask::node_classes) graph.labels = slice(tensors_.labels, node, node_end);
  if (schema_.task == GraphTask::graph_classes || schema_.task == GraphTask::graph_targets) {
    graph.labels = tensors_.labels.select(0, number);
  }
  if (schema_.task == GraphTask::pairs) {
    const auto pair = number_at(tensors_.pair_offsets, number);
    const auto pair_end = number_at(tensors_.pair_offsets, number + 1);
    graph.pair_source = slice(tensors_.pair_source, pair, pair_end);
    graph.pair_target = slice(tensors_.pair_target, pair, pair_end);
    graph.pair_label = slice(tensors_.pair_label, pair, pair_end);
  }
  return graph;
}

Batch GraphSet::batch(const GraphRange& range) const {
  std::vector<std::int64_t> graphs(static_cast<std::size_t>(range.size()));
  std::iota(graphs.begin(), graphs.end(), range.first);
  return batch(graphs);
}

GraphSet GraphSet::with_encodings(const at::Tensor& lap_vectors, const at::Tensor& lap_values,
                                  const at::Tensor& rwse) const {
  auto tensors = tensors_;
  if (lap_vectors.defined()) tensors.lap_vectors = lap_vectors;
  if (lap_values.defined()) tensors.lap_values = lap_values;
  if (rwse.defined()) tensors.rwse = rwse;
  return {schema_, splits_, std::move(tensors)};
}

}  // namespace quest::data
