#include "tests/nn/plain_graphs.h"

#include <torch/torch.h>

namespace quest::testing {
namespace {

constexpr double kNormEps = 1e-5;
constexpr double kGatedEps = 1e-6;

// [edges, nodes]: a 1 in each row, at the node of the edge.
at::Tensor incidence(const at::Tensor& ends, std::int64_t nodes) {
  return (ends.unsqueeze(1) == at::arange(nodes)).to(at::kDouble);
}

at::Tensor linear(const Weights& weights, const std::string& name, const at::Tensor& x) {
  return at::linear(x, weights.at(name + ".weight"), weights.at(name + ".bias"));
}

}  // namespace

at::Tensor plain_batch_norm(const Weights& weights, const std::string& prefix, const at::Tensor& x) {
  const at::Tensor centred = x - x.mean(0, true);
  return centred / (centred.square().mean(0, true) + kNormEps).sqrt() * weights.at(prefix + ".weight") +
         weights.at(prefix + ".bias");
}

at::Tensor plain_gine_sums(const at::Tensor& nodes, const at::Tensor& features, const nn::GraphEdges& edges) {
  const at::Tensor sources = incidence(edges.source, nodes.size(0)).matmul(nodes);
  return nodes + incidence(edges.target, nodes.size(0)).t().matmul((sources + features).relu());
}

nn::GatedAverages plain_gated_averages(const at::Tensor& projections, const at::Tensor& terms,
                                       const nn::GraphEdges& edges) {
  const auto parts = projections.chunk(4, 1);
  const at::Tensor from = incidence(edges.source, projections.size(0));
  const at::Tensor to = incidence(edges.target, projections.size(0));
  const at::Tensor gates = to.matmul(parts[2]) + from.matmul(parts[3]) + terms;
  const at::Tensor weights = 1.0 / (1.0 + (-gates).exp());
  const at::Tensor sums = to.t().matmul(weights * from.matmul(parts[1]));
  return {.nodes = parts[0] + sums / (to.t().matmul(weights) + kGatedEps), .gates = gates};
}

at::Tensor plain_gine(const Weights& weights, const std::string& prefix, const nn::GraphFeatures& x,
                      const nn::GraphEdges& edges) {
  const at::Tensor hidden = linear(weights, prefix + "fc1", plain_gine_sums(x.nodes, x.edges, edges)).relu();
  return linear(weights, prefix + "fc2", hidden);
}

nn::GraphFeatures plain_gated_gcn(const Weights& weights, const std::string& prefix, const nn::GraphFeatures& x,
                                  const nn::GraphEdges& edges) {
  const nn::GatedAverages averages = plain_gated_averages(linear(weights, prefix + "node_proj", x.nodes),
                                                          linear(weights, prefix + "edge_proj", x.edges), edges);
  return {.nodes = x.nodes + plain_batch_norm(weights, prefix + "node_norm", averages.nodes).relu(),
          .edges = x.edges + plain_batch_norm(weights, prefix + "edge_norm", averages.gates).relu()};
}

nn::GraphFeatures plain_gps_layer(const nn::GpsLayerOptions& options, const Weights& weights, const std::string& prefix,
                                  const nn::GraphFeatures& x, const nn::GraphEdges& edges,
                                  const std::vector<std::int64_t>& graph_sizes) {
  nn::GraphFeatures local{.edges = x.edges};
  if (options.message_passing() == nn::MessagePassing::gine) {
    local.nodes = x.nodes + plain_gine(weights, prefix + "gine.", x, edges);
  } else {
    local = plain_gated_gcn(weights, prefix + "gated_gcn.", x, edges);
  }
  std::vector<at::Tensor> seen;
  for (const at::Tensor& graph : x.nodes.split_with_sizes(graph_sizes)) {
    seen.push_back(
        plain_self_attention(options.formulation(), options.heads(), weights, prefix + "attn.", graph.unsqueeze(0))
            .squeeze(0));
  }
  const at::Tensor both = plain_batch_norm(weights, prefix + "norm_local", local.nodes) +
                          plain_batch_norm(weights, prefix + "norm_attn", x.nodes + at::cat(seen));
  const at::Tensor hidden = linear(weights, prefix + "mlp.fc1", both).relu();
  return {.nodes = plain_batch_norm(weights, prefix + "norm", both + linear(weights, prefix + "mlp.fc2", hidden)),
          .edges = local.edges};
}

}  // namespace quest::testing
