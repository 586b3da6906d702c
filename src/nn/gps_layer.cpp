#include "quest/nn/gps_layer.h"

#include <torch/torch.h>

#include "quest/nn/initialization.h"

namespace quest::nn {

GpsLayerImpl::GpsLayerImpl(const GpsLayerOptions& given) : options(given) { reset(); }

void GpsLayerImpl::reset() {
  const std::int64_t dim = options.dim();
  if (options.message_passing() == MessagePassing::gine) {
    gine = register_module("gine", Gine(dim));
  } else {
    gated_gcn = register_module("gated_gcn", GatedGcn(GatedGcnOptions(dim).dropout(options.dropout())));
  }
  norm_local = register_module("norm_local", BatchNorm(dim));
  attn = register_module("attn", Attention(AttentionOptions(dim, options.heads())
                                               .formulation(options.formulation())
                                               .attention_dropout(options.attention_dropout())
                                               .dropout(options.dropout())));
  init_as_multihead_attention(*attn);
  norm_attn = register_module("norm_attn", BatchNorm(dim));
  mlp = register_module("mlp", Mlp(MlpOptions(dim, 2 * dim).activation(Activation::relu).dropout(options.dropout())));
  norm = register_module("norm", BatchNorm(dim));
}

GraphFeatures GpsLayerImpl::pass_messages(const GraphFeatures& features, const GraphEdges& edges, bool edges_are_read) {
  if (gated_gcn) return gated_gcn->forward(features, edges, edges_are_read);
  const at::Tensor sums = gine->forward(features.nodes, features.edges, edges);
  return {.nodes = features.nodes + at::dropout(sums, options.dropout(), is_training()), .edges = features.edges};
}

GraphFeatures GpsLayerImpl::forward(const GraphFeatures& features, const GraphEdges& edges,
                                    const AttentionInputs& attention, bool edges_are_read) {
  GraphFeatures local = pass_messages(features, edges, edges_are_read);
  const at::Tensor seen = attn->forward(features.nodes.unsqueeze(0), attention).squeeze(0);
  const at::Tensor both = norm_local->forward(local.nodes) + norm_attn->forward(features.nodes + seen);
  return {.nodes = norm->forward(both + mlp->forward(both)), .edges = local.edges};
}

double GpsLayerImpl::forward_flops(double nodes, double edges) const {
  const auto dim = static_cast<double>(options.dim());
  const double messages = gine ? gine->forward_flops(nodes, edges) : gated_gcn->forward_flops(nodes, edges);
  return messages + 2 * nodes * dim * (4 * dim + 2 * nodes) + 2 * nodes * 4 * dim * dim;
}

}  // namespace quest::nn
