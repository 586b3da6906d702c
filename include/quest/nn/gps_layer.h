#pragma once

// A layer of GraphGPS: message passing along edges and attention between all nodes of a graph, side by side, then an
// MLP.

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "quest/nn/attention.h"
#include "quest/nn/message_passing.h"
#include "quest/nn/mlp.h"

namespace quest::nn {

enum class MessagePassing { gine, gated_gcn };

struct GpsLayerOptions {
  GpsLayerOptions(std::int64_t dim, std::int64_t heads) : dim_(dim), heads_(heads) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::int64_t, heads);
  TORCH_ARG(MessagePassing, message_passing) = MessagePassing::gated_gcn;
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(double, attention_dropout) = 0.0;
};

//   local = norm_local(messages(x)),   with x + dropout(messages(x)) for GINE, which has no residual of its own
//   seen = norm_attn(x + dropout(attn(x)))
//   out = norm(y + mlp(y)),   y = local + seen
class QUEST_API GpsLayerImpl : public torch::nn::Cloneable<GpsLayerImpl> {
 public:
  explicit GpsLayerImpl(const GpsLayerOptions& options);

  void reset() override;
  // attention.cu_seqlens says where each graph begins among the nodes. Where nobody reads the edges' features
  // afterwards, they may be left undefined.
  GraphFeatures forward(const GraphFeatures& features, const GraphEdges& edges, const AttentionInputs& attention,
                        bool edges_are_read = true);

  // Multiplications and additions of forward for one graph.
  [[nodiscard]] double forward_flops(double nodes, double edges) const;

  GpsLayerOptions options;
  Gine gine{nullptr};
  GatedGcn gated_gcn{nullptr};
  BatchNorm norm_local{nullptr};
  Attention attn{nullptr};
  BatchNorm norm_attn{nullptr};
  Mlp mlp{nullptr};
  BatchNorm norm{nullptr};

 private:
  GraphFeatures pass_messages(const GraphFeatures& features, const GraphEdges& edges, bool edges_are_read);
};

TORCH_MODULE(GpsLayer);

}  // namespace quest::nn
