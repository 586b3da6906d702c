#include "quest/nn/message_passing.h"

#include <torch/torch.h>

#include "nn/fused_messages.h"
#include "nn/kernels/messages.h"

namespace quest::nn {
namespace {

constexpr std::int64_t kProjections = kernels::kGatedProjections;

void check_range(const char* name, const at::Tensor& numbers, std::int64_t end) {
  if (!numbers.is_cpu() || numbers.numel() == 0) return;
  const auto [least, most] = numbers.aminmax();
  TORCH_CHECK(least.item<std::int64_t>() >= 0 && most.item<std::int64_t>() < end, "quest::nn: ", name,
              " must hold numbers from 0 to ", end - 1, ", got ", least.item<std::int64_t>(), " to ",
              most.item<std::int64_t>());
}

void check_offsets(const char* name, const at::Tensor& offsets, std::int64_t nodes, std::int64_t edges) {
  TORCH_CHECK(offsets.dim() == 1 && offsets.size(0) == nodes + 1, "quest::nn: ", name, " must have shape [", nodes + 1,
              "], one more than there are nodes, got ", offsets.sizes());
  if (!offsets.is_cpu()) return;
  TORCH_CHECK(offsets[0].item<std::int64_t>() == 0 && offsets[nodes].item<std::int64_t>() == edges &&
                  (offsets.diff() >= 0).all().item<bool>(),
              "quest::nn: ", name, " must rise from 0 to the number of edges, ", edges, ", got ",
              offsets[0].item<std::int64_t>(), " to ", offsets[nodes].item<std::int64_t>());
}

// Under autocast, projections are narrower than the sums over many edges may be.
at::Tensor at_least_float32(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat); }

at::Tensor plain_gine_sums(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges) {
  return nodes + segment_sum((segment_rows(nodes, edges.out_of()) + features).relu(), edges.into());
}

GatedAverages plain_gated_averages(const at::Tensor& projections, const at::Tensor& terms, const GraphEdges& edges) {
  const auto parts = projections.chunk(kProjections, 1);
  const at::Tensor gates = segment_rows(parts[2], edges.into()) + segment_rows(parts[3], edges.out_of()) + terms;
  const at::Tensor weights = gates.sigmoid();
  const at::Tensor sums = segment_sum(weights * segment_rows(parts[1], edges.out_of()), edges.into());
  return {.nodes = parts[0] + sums / (segment_sum(weights, edges.into()) + kernels::kGatedEps), .gates = gates};
}

}  // namespace

void check_edges(const GraphEdges& edges, std::int64_t nodes) {
  const std::int64_t count = edges.source.size(0);
  for (const at::Tensor* tensor : {&edges.source, &edges.target, &edges.by_source}) {
    TORCH_CHECK(tensor->dim() == 1 && tensor->size(0) == count,
                "quest::nn: source, target and by_source must have one number for each edge, got shapes ",
                edges.source.sizes(), ", ", edges.target.sizes(), " and ", edges.by_source.sizes());
  }
  check_range("source", edges.source, nodes);
  check_range("target", edges.target, nodes);
  check_range("by_source", edges.by_source, count);
  check_offsets("edge_offsets", edges.edge_offsets, nodes, count);
  check_offsets("source_offsets", edges.source_offsets, nodes, count);
}

GraphEdges sorted_edges(const at::Tensor& source, const at::Tensor& target, std::int64_t nodes) {
  check_range("source", source, nodes);
  check_range("target", target, nodes);
  TORCH_CHECK((target.diff() >= 0).all().item<bool>(),
              "quest::nn: edges must be sorted by target, and are not; sort them");
  const Segments out_of = segments_from_numbers(source, nodes);
  const Segments into = segments_from_numbers(target, nodes);
  return {.source = source,
          .target = target,
          .edge_offsets = into.offsets,
          .by_source = out_of.order,
          .source_offsets = out_of.offsets};
}

at::Tensor gine_sums(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges) {
  const at::Tensor wide = at_least_float32(nodes);
  const at::Tensor wide_features = at_least_float32(features);
  return has_fused_messages(wide) ? fused_gine_sums(wide, wide_features, edges)
                                  : plain_gine_sums(wide, wide_features, edges);
}

GatedAverages gated_averages(const at::Tensor& projections, const at::Tensor& terms, const GraphEdges& edges) {
  TORCH_CHECK(projections.dim() == 2 && terms.dim() == 2 && projections.size(1) == kProjections * terms.size(1),
              "quest::nn: gated_averages takes projections of shape [nodes, 4·dim] and terms of shape [edges, dim], ",
              "got ", projections.sizes(), " and ", terms.sizes());
  const at::Tensor wide = at_least_float32(projections);
  const at::Tensor wide_terms = at_least_float32(terms);
  return has_fused_messages(wide) ? fused_gated_averages(wide, wide_terms, edges)
                                  : plain_gated_averages(wide, wide_terms, edges);
}

GineImpl::GineImpl(std::int64_t given) : dim(given) { reset(); }

void GineImpl::reset() {
  fc1 = register_module("fc1", torch::nn::Linear(dim, dim));
  fc2 = register_module("fc2", torch::nn::Linear(dim, dim));
}

at::Tensor GineImpl::forward(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges) {
  return fc2->forward(fc1->forward(gine_sums(nodes, features, edges)).relu_());
}

double GineImpl::forward_flops(double nodes, double edges) const {
  const auto width = static_cast<double>(dim);
  return 4 * nodes * width * width + 2 * edges * width;
}

GatedGcnImpl::GatedGcnImpl(const GatedGcnOptions& given) : options(given) { reset(); }

void GatedGcnImpl::reset() {
  const std::int64_t dim = options.dim();
  node_proj = register_module("node_proj", torch::nn::Linear(dim, kProjections * dim));
  edge_proj = register_module("edge_proj", torch::nn::Linear(dim, dim));
  node_norm = register_module("node_norm", BatchNorm(dim));
  edge_norm = register_module("edge_norm", BatchNorm(dim));
}

GraphFeatures GatedGcnImpl::forward(const GraphFeatures& features, const GraphEdges& edges, bool edges_are_read) {
  const GatedAverages averages =
      gated_averages(node_proj->forward(features.nodes), edge_proj->forward(features.edges), edges);
  GraphFeatures result{.nodes = node_norm->forward_branch(averages.nodes, features.nodes, options.dropout())};
  if (edges_are_read) {
    result.edges = edge_norm->forward_branch(averages.gates, features.edges, options.dropout());
  }
  return result;
}

double GatedGcnImpl::forward_flops(double nodes, double edges) const {
  const auto width = static_cast<double>(options.dim());
  return 2 * width * width * (nodes * static_cast<double>(kProjections) + edges) + 6 * edges * width;
}

}  // namespace quest::nn
