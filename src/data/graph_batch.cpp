// Graphs of a set side by side: the one part of it that runs for every step.

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data/graph_set.h"

namespace quest::data {
namespace {

// Rows first to last - 1 of the set.
using Pieces = std::vector<GraphRange>;

std::int64_t rows_of(const Pieces& pieces) {
  std::int64_t rows = 0;
  for (const auto& piece : pieces) rows += piece.size();
  return rows;
}

at::Tensor joined(const at::Tensor& rows, const Pieces& pieces) {
  if (pieces.empty()) return rows.narrow(0, 0, 0).clone();
  std::vector<at::Tensor> parts;
  parts.reserve(pieces.size());
  for (const auto& piece : pieces) parts.push_back(rows.narrow(0, piece.first, piece.size()));
  return at::cat(parts);
}

class Assembly {
 public:
  Assembly(const GraphTensors& tensors, std::span<const std::int64_t> graphs) : tensors_(tensors) {
    const auto* offsets = tensors.offsets.const_data_ptr<std::int64_t>();
    const auto* in_edges = tensors.in_edges.const_data_ptr<std::int64_t>();
    for (const auto graph : graphs) {
      if (graph < 0 || graph + 1 >= tensors.offsets.size(0)) {
        throw std::out_of_range("expected graphs from 0 to " + std::to_string(tensors.offsets.size(0) - 2) + ", got " +
                                std::to_string(graph));
      }
      graphs_.push_back({graph, graph + 1});
      nodes_.push_back({offsets[graph], offsets[graph + 1]});
      edges_.push_back({in_edges[offsets[graph]], in_edges[offsets[graph + 1]]});
    }
    node_count_ = rows_of(nodes_);
    edge_count_ = rows_of(edges_);
  }

  std::vector<std::pair<std::string, at::Tensor>> take(GraphTask task, const NegativePairs& negatives) {
    add_nodes();
    add_edges();
    add_edges_by_source();
    add_rows("node_ids", tensors_.node_ids, nodes_, at::kLong);
    add_rows("node_values", tensors_.node_values, nodes_, at::kFloat);
    add_rows("edge_ids", tensors_.edge_ids, edges_, at::kLong);
    add_rows("edge_values", tensors_.edge_values, edges_, at::kFloat);
    add_rows("lap_vectors", tensors_.lap_vectors, nodes_, at::kFloat);
    if (tensors_.lap_values.defined()) {
      add("lap_values", joined(tensors_.lap_values, graphs_).index_select(0, graph_));
    }
    add_rows("rwse", tensors_.rwse, nodes_, at::kFloat);
    if (task == GraphTask::node_classes) add_rows("y", tensors_.labels, nodes_, at::kLong);
    if (task == GraphTask::graph_classes) add_rows("y", tensors_.labels, graphs_, at::kLong);
    if (task == GraphTask::graph_targets) add_rows("y", tensors_.labels, graphs_, at::kFloat);
    if (task == GraphTask::pairs) add_pairs(negatives);
    return std::move(result_);
  }

 private:
  void add(const char* name, at::Tensor tensor) { result_.emplace_back(name, std::move(tensor)); }

  void add_rows(const char* name, const at::Tensor& rows, const Pieces& pieces, at::ScalarType type) {
    if (rows.defined()) add(name, joined(rows, pieces).to(type));
  }

  void add_nodes() {
    offsets_ = at::empty({static_cast<std::int64_t>(nodes_.size()) + 1}, at::kInt);
    graph_ = at::empty({node_count_}, at::kLong);
    auto* offset = offsets_.mutable_data_ptr<std::int32_t>();
    auto* graph = graph_.mutable_data_ptr<std::int64_t>();
    *offset = 0;
    for (std::size_t g = 0; g < nodes_.size(); ++g, ++offset) {
      const auto nodes = nodes_[g].size();
      offset[1] = static_cast<std::int32_t>(*offset + nodes);
      graph = std::fill_n(graph, nodes, static_cast<std::int64_t>(g));
    }
    add("offsets", offsets_);
    add("graph", graph_);
  }

  template <typename Small>
  void fill_source(std::int64_t* source) const {
    const auto* all = tensors_.source.const_data_ptr<Small>();
    std::int64_t first_node = 0;
    for (std::size_t g = 0; g < nodes_.size(); ++g) {
      for (auto edge = edges_[g].first; edge < edges_[g].last; ++edge) *source++ = first_node + all[edge];
      first_node += nodes_[g].size();
    }
  }

  void add_edges() {
    source_ = at::empty({edge_count_}, at::kLong);
    auto* source = source_.mutable_data_ptr<std::int64_t>();
    switch (tensors_.source.scalar_type()) {
      case at::kByte:
        fill_source<std::uint8_t>(source);
        break;
      case at::kShort:
        fill_source<std::int16_t>(source);
        break;
      default:
        fill_source<std::int32_t>(source);
    }
    const auto target_tensor = at::empty({edge_count_}, at::kLong);
    const auto edge_offsets = at::empty({node_count_ + 1}, at::kLong);
    auto* target = target_tensor.mutable_data_ptr<std::int64_t>();
    auto* offset = edge_offsets.mutable_data_ptr<std::int64_t>();
    const auto* in_edges = tensors_.in_edges.const_data_ptr<std::int64_t>();
    std::int64_t own = 0;
    *offset = 0;
    for (const auto& piece : nodes_) {
      for (auto node = piece.first; node < piece.last; ++node, ++own, ++offset) {
        const auto edges = in_edges[node + 1] - in_edges[node];
        target = std::fill_n(target, edges, own);
        offset[1] = *offset + edges;
      }
    }
    add("source", source_);
    add("target", target_tensor);
    add("edge_offsets", edge_offsets);
  }

  void add_edges_by_source() {
    const auto by_source = at::empty({edge_count_}, at::kLong);
    const auto source_offsets = at::zeros({node_count_ + 1}, at::kLong);
    const auto* source = source_.const_data_ptr<std::int64_t>();
    auto* offset = source_offsets.mutable_data_ptr<std::int64_t>();
    for (std::int64_t edge = 0; edge < edge_count_; ++edge) ++offset[source[edge] + 1];
    for (std::int64_t node = 0; node < node_count_; ++node) offset[node + 1] += offset[node];
    std::vector<std::int64_t> next(offset, offset + node_count_);
    auto* place = by_source.mutable_data_ptr<std::int64_t>();
    for (std::int64_t edge = 0; edge < edge_count_; ++edge) {
      place[next[static_cast<std::size_t>(source[edge])]++] = edge;
    }
    add("by_source", by_source);
    add("source_offsets", source_offsets);
  }

  void add_pairs(const NegativePairs& negatives) {
    const auto* all = tensors_.pair_offsets.const_data_ptr<std::int64_t>();
    Pieces pairs;
    for (const auto& graph : graphs_) pairs.push_back({all[graph.first], all[graph.last]});
    const auto offsets = at::zeros({static_cast<std::int64_t>(pairs.size()) + 1}, at::kLong);
    const auto first_node = at::empty({rows_of(pairs)}, at::kLong);
    auto* offset = offsets.mutable_data_ptr<std::int64_t>();
    auto* first = first_node.mutable_data_ptr<std::int64_t>();
    std::int64_t node = 0;
    for (std::size_t g = 0; g < pairs.size(); ++g) {
      offset[g + 1] = offset[g] + pairs[g].size();
      first = std::fill_n(first, pairs[g].size(), node);
      node += nodes_[g].size();
    }
    PairTensors result{.offsets = offsets,
                       .source = joined(tensors_.pair_source, pairs).to(at::kLong).add_(first_node),
                       .target = joined(tensors_.pair_target, pairs).to(at::kLong).add_(first_node),
                       .label = joined(tensors_.pair_label, pairs).to(at::kLong)};
    if (negatives.each > 0) result = with_negative_pairs(result, offsets_, negatives);
    add("pair_offsets", result.offsets);
    add("pair_source", result.source);
    add("pair_target", result.target);
    add("pair_label", result.label);
  }

  const GraphTensors& tensors_;
  Pieces graphs_;
  Pieces nodes_;
  Pieces edges_;
  std::int64_t node_count_ = 0;
  std::int64_t edge_count_ = 0;
  at::Tensor offsets_;
  at::Tensor graph_;
  at::Tensor source_;
  std::vector<std::pair<std::string, at::Tensor>> result_;
};

}  // namespace

Batch GraphSet::batch(std::span<const std::int64_t> graphs, const NegativePairs& negatives) const {
  return {static_cast<std::int64_t>(graphs.size()), Assembly(tensors_, graphs).take(schema_.task, negatives)};
}

}  // namespace quest::data
