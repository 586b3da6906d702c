#pragma once

// GraphGPS: message passing and attention side by side, over batches of graphs packed node by node without padding.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "quest/nn/gps_layer.h"
#include "quest/nn/graph_encoding.h"

namespace quest::models {

inline constexpr std::int64_t kMostHeadLayers = 32;

enum class GraphEncoding { none, laplacian, random_walk };

enum class GraphPooling {
  none,  // a prediction for every node
  mean,
  sum,
};

// What stands between the last layer and the outputs: hidden linear layers with ReLU, and a linear layer.
enum class GraphHead {
  mlp,      // hidden layers of the model's width, the rows after each divided by their length
  halving,  // hidden layers half as wide as the one before
  pairs,    // one linear layer of the model's width: a score for two nodes is the product of their rows
};

struct GraphGpsOptions {
  TORCH_ARG(std::int64_t, outputs) = 1;                   // by a head that is not pairs
  TORCH_ARG(std::vector<std::int64_t>, node_categories);  // of each categorical feature
  TORCH_ARG(std::int64_t, node_values) = 0;               // continuous features; one of the two kinds
  TORCH_ARG(std::vector<std::int64_t>, edge_categories);
  TORCH_ARG(std::int64_t, edge_values) = 0;  // neither kind: one learned vector for all edges
  TORCH_ARG(std::int64_t, dim) = 48;
  TORCH_ARG(std::int64_t, depth) = 16;
  TORCH_ARG(std::int64_t, heads) = 8;
  TORCH_ARG(nn::MessagePassing, message_passing) = nn::MessagePassing::gated_gcn;
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(double, attention_dropout) = 0.5;
  TORCH_ARG(GraphEncoding, encoding) = GraphEncoding::laplacian;
  TORCH_ARG(std::int64_t, encoding_terms) = 10;  // eigenvectors, or steps of the random walk
  TORCH_ARG(std::int64_t, encoding_dim) = 16;    // of dim; the node's own features have the rest
  TORCH_ARG(GraphPooling, pooling) = GraphPooling::none;
  TORCH_ARG(GraphHead, head) = GraphHead::mlp;
  TORCH_ARG(std::int64_t, head_layers) = 2;  // hidden ones
};

// G graphs with V nodes and E edges together.
struct GraphBatch {
  at::Tensor offsets;  // [G + 1] integers: where the nodes of each graph begin
  at::Tensor graph;    // [V], the graph of each node
  nn::GraphEdges edges;
  at::Tensor node_ids;     // [V, features] int64
  at::Tensor node_values;  // [V, features]
  at::Tensor edge_ids;     // [E, features] int64
  at::Tensor edge_values;  // [E, features]
  at::Tensor lap_vectors;  // [V, terms], NaN where a graph has fewer
  at::Tensor lap_values;   // [V, terms]
  at::Tensor rwse;         // [V, terms], return probabilities of the random walk

  [[nodiscard]] nn::Segments graphs() const { return {.offsets = offsets, .segment = graph, .order = {}}; }
};

class QUEST_API GraphGpsImpl : public torch::nn::Cloneable<GraphGpsImpl> {
 public:
  explicit GraphGpsImpl(const GraphGpsOptions& options = {});

  void reset() override;

  // -> [V, outputs] without pooling, [G, outputs] with; [V, dim] for pairs
  at::Tensor forward(const GraphBatch& batch);

  // The nodes after the last layer, [V, dim].
  at::Tensor forward_features(const GraphBatch& batch);

  // Multiplications and additions of forward, for one graph.
  [[nodiscard]] double forward_flops(double nodes, double edges) const;

  GraphGpsOptions options;
  nn::FeatureEncoder node_encoder{nullptr};
  nn::LaplacianEncoder laplacian_encoder{nullptr};
  nn::RandomWalkEncoder random_walk_encoder{nullptr};
  nn::FeatureEncoder edge_encoder{nullptr};
  torch::nn::ModuleList layers{nullptr};
  torch::nn::ModuleList head{nullptr};

 private:
  void reset_encoders();
  void reset_head();
  at::Tensor encode_nodes(const GraphBatch& batch);
  at::Tensor predict(at::Tensor x);
};

TORCH_MODULE(GraphGps);

}  // namespace quest::models
