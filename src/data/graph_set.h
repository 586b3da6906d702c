#pragma once

// Many graphs in a few tensors: all nodes one after the other, all edges one after the other, and where each graph's
// begin. Twelve thousand graphs are read from a file at the speed of the disk, and a batch is cut out by any thread.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/batch.h"
#include "data/graph.h"
#include "data/negative_pairs.h"

namespace quest::data {

// Graphs first to last - 1 of a set.
struct GraphRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] std::int64_t size() const { return last - first; }
};

// What models have to know of a set's graphs.
struct GraphSchema {
  std::string name;
  GraphTask task = GraphTask::node_classes;
  std::vector<std::int64_t> node_categories;  // of each column of node_ids: how many there are
  std::vector<std::int64_t> edge_categories;
  std::int64_t outputs = 0;  // classes, or targets; of pairs 1
};

// How the tensors of a set are called in a file, in the order in which they stand here. Types are as small as the
// numbers allow; batches have those of the model.
struct GraphTensors {
  at::Tensor offsets;       // int64 [G + 1]: nodes of graph g are offsets[g] .. offsets[g + 1]
  at::Tensor in_edges;      // int64 [V + 1]: edges into node v are in_edges[v] .. in_edges[v + 1]
  at::Tensor source;        // uint8, int16 or int32 [E]: node of its graph that the edge leads from
  at::Tensor node_ids;      // uint8 or int32 [V, F], or undefined
  at::Tensor node_values;   // float [V, F], or undefined
  at::Tensor edge_ids;      // uint8 or int32 [E, F], or undefined
  at::Tensor edge_values;   // float [E, F], or undefined
  at::Tensor labels;        // uint8 or int32 [V] or [G], float [G, T], or undefined
  at::Tensor pair_offsets;  // int64 [G + 1]: pairs of graph g; undefined for other tasks, as are the next three
  at::Tensor pair_source;   // int32 [P]: node of its graph
  at::Tensor pair_target;   // int32 [P]
  at::Tensor pair_label;    // uint8 [P]
  at::Tensor lap_vectors;   // float [V, m], or undefined
  at::Tensor lap_values;    // float [G, m], or undefined
  at::Tensor rwse;          // float [V, k], or undefined

  // Calls visit(name, tensor) for each.
  template <typename Self, typename Visit>
  static void each(Self& self, const Visit& visit) {
    visit("offsets", self.offsets);
    visit("in_edges", self.in_edges);
    visit("source", self.source);
    visit("node_ids", self.node_ids);
    visit("node_values", self.node_values);
    visit("edge_ids", self.edge_ids);
    visit("edge_values", self.edge_values);
    visit("labels", self.labels);
    visit("pair_offsets", self.pair_offsets);
    visit("pair_source", self.pair_source);
    visit("pair_target", self.pair_target);
    visit("pair_label", self.pair_label);
    visit("lap_vectors", self.lap_vectors);
    visit("lap_values", self.lap_values);
    visit("rwse", self.rwse);
  }
};

class GraphSet {
 public:
  using Splits = std::vector<std::pair<std::string, GraphRange>>;

  GraphSet() = default;
  // Checks everything that batch() relies on. Throws FormatError that names the graph and what is wrong with it.
  GraphSet(GraphSchema schema, Splits splits, GraphTensors tensors);

  [[nodiscard]] const GraphSchema& schema() const { return schema_; }
  [[nodiscard]] const GraphTensors& tensors() const { return tensors_; }
  [[nodiscard]] const Splits& splits() const { return splits_; }
  // Of "train", "validation" or "test". Throws std::out_of_range that names those there are.
  [[nodiscard]] GraphRange split(std::string_view name) const;

  [[nodiscard]] std::int64_t size() const { return tensors_.offsets.size(0) - 1; }
  [[nodiscard]] std::int64_t nodes() const { return tensors_.in_edges.size(0) - 1; }
  [[nodiscard]] std::int64_t edges() const { return tensors_.source.size(0); }
  [[nodiscard]] std::int64_t nodes_of(std::int64_t graph) const;
  // Number of columns; 0 where there are none.
  [[nodiscard]] std::int64_t node_values() const;
  [[nodiscard]] std::int64_t edge_values() const;

  [[nodiscard]] Graph graph(std::int64_t number) const;

  // The graphs side by side as one, for models. Index tensors are int64 unless noted; what the set has not is absent.
  //   offsets [G + 1] int32     nodes of graph g are offsets[g] .. offsets[g + 1]
  //   source, target [E]        sorted by target, then as the set has them
  //   edge_offsets [V + 1]      edges into node v
  //   by_source [E]             the edges sorted by source, then by place
  //   source_offsets [V + 1]    edges from node v are by_source[source_offsets[v] .. source_offsets[v + 1]]
  //   graph [V]                 number of the node's graph in the batch
  //   node_ids [V, F], node_values [V, F] float, edge_ids [E, F], edge_values [E, F] float
  //   lap_vectors [V, m] float, lap_values [V, m] float, rwse [V, k] float
  //   y [V], [G] or [G, T] float
  //   pair_source, pair_target, pair_label [P], pair_offsets [G + 1]
  // Where negatives are asked for, pairs with the label 0 are drawn and those of the set left out.
  [[nodiscard]] Batch batch(std::span<const std::int64_t> graphs, const NegativePairs& negatives = {}) const;
  [[nodiscard]] Batch batch(const GraphRange& range) const;

  // The same graphs with positional encodings; an undefined one is left as it was.
  [[nodiscard]] GraphSet with_encodings(const at::Tensor& lap_vectors, const at::Tensor& lap_values,
                                        const at::Tensor& rwse) const;

 private:
  GraphSchema schema_;
  Splits splits_;
  GraphTensors tensors_;
};

}  // namespace quest::data
