#pragma once

// Layers over graphs written down as formulas on float64 tensors: sums over edges are products with dense matrices, and
// attention is that of one graph at a time. BatchNorm is that of training, over all rows.

#include "quest/nn/gps_layer.h"
#include "tests/nn/plain_attention.h"

namespace quest::testing {

at::Tensor plain_batch_norm(const Weights& weights, const std::string& prefix, const at::Tensor& x);

at::Tensor plain_gine_sums(const at::Tensor& nodes, const at::Tensor& features, const nn::GraphEdges& edges);
nn::GatedAverages plain_gated_averages(const at::Tensor& projections, const at::Tensor& terms,
                                       const nn::GraphEdges& edges);

at::Tensor plain_gine(const Weights& weights, const std::string& prefix, const nn::GraphFeatures& x,
                      const nn::GraphEdges& edges);
nn::GraphFeatures plain_gated_gcn(const Weights& weights, const std::string& prefix, const nn::GraphFeatures& x,
                                  const nn::GraphEdges& edges);

nn::GraphFeatures plain_gps_layer(const nn::GpsLayerOptions& options, const Weights& weights, const std::string& prefix,
                                  const nn::GraphFeatures& x, const nn::GraphEdges& edges,
                                  const std::vector<std::int64_t>& graph_sizes);

}  // namespace quest::testing
