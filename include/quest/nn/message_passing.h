#pragma once

// Message passing along the edges of a batch of graphs: GINE and GatedGCN.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "quest/nn/batch_norm.h"
#include "quest/nn/segments.h"

namespace quest::nn {

// The directed edges of a batch of graphs, numbered over its nodes and sorted by target.
struct GraphEdges {
  at::Tensor source;          // [E]
  at::Tensor target;          // [E]
  at::Tensor edge_offsets;    // [V + 1]: the edges into node v
  at::Tensor by_source;       // [E], edges sorted by source
  at::Tensor source_offsets;  // [V + 1]: the edges out of node v, as places in by_source

  [[nodiscard]] Segments into() const { return {.offsets = edge_offsets, .segment = target, .order = {}}; }
  [[nodiscard]] Segments out_of() const { return {.offsets = source_offsets, .segment = source, .order = by_source}; }
};

// Of edges in the order of their targets. Throws where they are in another order or name nodes that are not there.
[[nodiscard]] QUEST_API GraphEdges sorted_edges(const at::Tensor& source, const at::Tensor& target, std::int64_t nodes);
// Shapes, and on the CPU that every number is one of a node or edge: kernels follow them unseen.
QUEST_API void check_edges(const GraphEdges& edges, std::int64_t nodes);

// nodes_v + Σ relu(nodes_source + features) over the edges into v. [V, dim] and [E, dim] -> [V, dim]
[[nodiscard]] QUEST_API at::Tensor gine_sums(const at::Tensor& nodes, const at::Tensor& features,
                                             const GraphEdges& edges);

struct GatedAverages {
  at::Tensor nodes;  // [V, dim]
  at::Tensor gates;  // [E, dim], before the sigmoid
};

// With the projections a, b, d, e of every node side by side, [V, 4·dim], and terms of every edge, [E, dim]:
//   gates = d_target + e_source + terms
//   nodes_v = a_v + Σ sigmoid(gates) b_source / (Σ sigmoid(gates) + 1e-6) over the edges into v
[[nodiscard]] QUEST_API GatedAverages gated_averages(const at::Tensor& projections, const at::Tensor& terms,
                                                     const GraphEdges& edges);

// An MLP of gine_sums. The edges keep their features.
class QUEST_API GineImpl : public torch::nn::Cloneable<GineImpl> {
 public:
  explicit GineImpl(std::int64_t dim);

  void reset() override;
  at::Tensor forward(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges);
  // Multiplications and additions of forward.
  [[nodiscard]] double forward_flops(double nodes, double edges) const;

  std::int64_t dim;
  torch::nn::Linear fc1{nullptr};
  torch::nn::Linear fc2{nullptr};
};

TORCH_MODULE(Gine);

struct GatedGcnOptions {
  explicit GatedGcnOptions(std::int64_t dim) : dim_(dim) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(double, dropout) = 0.0;
};

// The features of nodes, [V, dim], and of edges, [E, dim].
struct GraphFeatures {
  at::Tensor nodes;
  at::Tensor edges;
};

// Both kinds of features x become x + dropout(relu(norm(y))), with y of gated_averages.
class QUEST_API GatedGcnImpl : public torch::nn::Cloneable<GatedGcnImpl> {
 public:
  explicit GatedGcnImpl(const GatedGcnOptions& options);

  void reset() override;
  // Where nobody reads the edges' features afterwards, they are left undefined.
  GraphFeatures forward(const GraphFeatures& features, const GraphEdges& edges, bool edges_are_read = true);
  // Multiplications and additions of forward.
  [[nodiscard]] double forward_flops(double nodes, double edges) const;

  GatedGcnOptions options;
  torch::nn::Linear node_proj{nullptr};  // a, b, d and e
  torch::nn::Linear edge_proj{nullptr};
  BatchNorm node_norm{nullptr};
  BatchNorm edge_norm{nullptr};
};

TORCH_MODULE(GatedGcn);

}  // namespace quest::nn
