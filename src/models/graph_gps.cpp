#include "quest/models/graph_gps.h"

#include <torch/torch.h>

namespace quest::models {
namespace {

constexpr double kLeastLength = 1e-12;

void check(const GraphGpsOptions& options) {
  TORCH_CHECK(options.outputs() > 0 && options.dim() > 0 && options.depth() > 0 && options.head_layers() >= 0 &&
                  options.head_layers() <= kMostHeadLayers,
              "quest::models: a GraphGps needs at least one output and layer and at most ", kMostHeadLayers,
              " hidden layers of its head, got ", options.outputs(), " outputs, width ", options.dim(), ", ",
              options.depth(), " layers, ", options.head_layers(), " hidden layers");
  TORCH_CHECK(options.node_values() > 0 || !options.node_categories().empty(),
              "quest::models: a GraphGps needs features of nodes, got none; set node_categories or node_values");
  TORCH_CHECK(
      options.encoding() == GraphEncoding::none ||
          (options.encoding_dim() > 0 && options.encoding_dim() < options.dim() && options.encoding_terms() > 0),
      "quest::models: an encoding takes at least one term and part of the width of ", options.dim(), ", got ",
      options.encoding_terms(), " terms and width ", options.encoding_dim());
  TORCH_CHECK(options.head() != GraphHead::pairs || options.pooling() == GraphPooling::none,
              "quest::models: pairs are pairs of nodes, so nothing may be pooled");
  TORCH_CHECK(options.head() != GraphHead::halving || (options.dim() >> options.head_layers()) > 0,
              "quest::models: a width of ", options.dim(), " cannot be halved ", options.head_layers(), " times");
}

void check(const GraphBatch& batch) {
  TORCH_CHECK(batch.offsets.dim() == 1 && batch.offsets.size(0) > 0 && batch.graph.dim() == 1,
              "quest::models: a batch of graphs needs offsets of shape [graphs + 1] and the graph of each node, got ",
              "shapes ", batch.offsets.sizes(), " and ", batch.graph.sizes());
  nn::check_edges(batch.edges, batch.graph.size(0));
}

std::int64_t width_of_features(const GraphGpsOptions& options) {
  return options.encoding() == GraphEncoding::none ? options.dim() : options.dim() - options.encoding_dim();
}

}  // namespace

GraphGpsImpl::GraphGpsImpl(const GraphGpsOptions& given) : options(given) { reset(); }

void GraphGpsImpl::reset() {
  check(options);
  reset_encoders();
  layers = register_module("layers", torch::nn::ModuleList());
  for (std::int64_t i = 0; i < options.depth(); ++i) {
    layers->push_back(nn::GpsLayer(nn::GpsLayerOptions(options.dim(), options.heads())
                                       .message_passing(options.message_passing())
                                       .formulation(options.formulation())
                                       .dropout(options.dropout())
                                       .attention_dropout(options.attention_dropout())));
  }
  reset_head();
}

void GraphGpsImpl::reset_encoders() {
  node_encoder =
      register_module("node_encoder", nn::FeatureEncoder(nn::FeatureEncoderOptions(width_of_features(options))
                                                             .categories(options.node_categories())
                                                             .values(options.node_values())));
  if (options.encoding() == GraphEncoding::laplacian) {
    laplacian_encoder =
        register_module("laplacian_encoder", nn::LaplacianEncoder(nn::LaplacianEncoderOptions(options.encoding_dim())));
  } else if (options.encoding() == GraphEncoding::random_walk) {
    random_walk_encoder = register_module(
        "random_walk_encoder",
        nn::RandomWalkEncoder(nn::RandomWalkEncoderOptions(options.encoding_terms(), options.encoding_dim())));
  }
  edge_encoder = register_module("edge_encoder", nn::FeatureEncoder(nn::FeatureEncoderOptions(options.dim())
                                                                        .categories(options.edge_categories())
                                                                        .values(options.edge_values())));
}

void GraphGpsImpl::reset_head() {
  head = register_module("head", torch::nn::ModuleList());
  if (options.head() == GraphHead::pairs) {
    head->push_back(torch::nn::Linear(options.dim(), options.dim()));
    return;
  }
  std::int64_t width = options.dim();
  for (std::int64_t i = 0; i < options.head_layers(); ++i) {
    const std::int64_t next = options.head() == GraphHead::halving ? width / 2 : width;
    head->push_back(torch::nn::Linear(width, next));
    width = next;
  }
  head->push_back(torch::nn::Linear(width, options.outputs()));
}

at::Tensor GraphGpsImpl::encode_nodes(const GraphBatch& batch) {
  const at::Tensor features = node_encoder->forward(batch.node_ids, batch.node_values, batch.graph.size(0));
  if (options.encoding() == GraphEncoding::none) return features;
  const bool is_laplacian = options.encoding() == GraphEncoding::laplacian;
  const at::Tensor& terms = is_laplacian ? batch.lap_vectors : batch.rwse;
  TORCH_CHECK(terms.defined() && terms.dim() == 2 && terms.size(0) == features.size(0) &&
                  terms.size(1) == options.encoding_terms(),
              "quest::models: expected ", is_laplacian ? "lap_vectors" : "rwse", " of shape [", features.size(0), ", ",
              options.encoding_terms(), "], got ", terms.defined() ? terms.sizes() : at::IntArrayRef());
  const at::Tensor positions =
      is_laplacian ? laplacian_encoder->forward(terms, batch.lap_values) : random_walk_encoder->forward(terms);
  return at::cat({features, positions}, 1);
}

at::Tensor GraphGpsImpl::forward_features(const GraphBatch& batch) {
  check(batch);
  nn::GraphFeatures features{
      .nodes = encode_nodes(batch),
      .edges = edge_encoder->forward(batch.edge_ids, batch.edge_values, batch.edges.source.size(0))};
  at::Tensor layer_values;
  const nn::AttentionInputs attention{.cu_seqlens = batch.offsets, .layer_values = &layer_values};
  for (std::size_t i = 0; i < layers->size(); ++i) {
    features = layers->at<nn::GpsLayerImpl>(i).forward(features, batch.edges, attention,
                                                       /*edges_are_read=*/i + 1 < layers->size());
  }
  return features.nodes;
}

at::Tensor GraphGpsImpl::predict(at::Tensor x) {
  for (std::size_t i = 0; i + 1 < head->size(); ++i) {
    x = head->at<torch::nn::LinearImpl>(i).forward(x).relu();
    if (options.head() == GraphHead::mlp) {
      x = x / x.norm(2, -1, /*keepdim=*/true).clamp_min(kLeastLength);
    }
  }
  return head->at<torch::nn::LinearImpl>(head->size() - 1).forward(x);
}

at::Tensor GraphGpsImpl::forward(const GraphBatch& batch) {
  const at::Tensor nodes = forward_features(batch);
  switch (options.pooling()) {
    case GraphPooling::mean:
      return predict(nn::segment_mean(nodes, batch.graphs()));
    case GraphPooling::sum:
      return predict(nn::segment_sum(nodes, batch.graphs()));
    default:
      return predict(nodes);
  }
}

double GraphGpsImpl::forward_flops(double nodes, double edges) const {
  double flops = 0.0;
  for (const auto& layer : *layers) flops += layer->as<nn::GpsLayerImpl>()->forward_flops(nodes, edges);
  const double rows = options.pooling() == GraphPooling::none ? nodes : 1.0;
  for (const auto& layer : *head) {
    const auto& linear = layer->as<torch::nn::LinearImpl>()->options;
    flops += 2 * rows * static_cast<double>(linear.in_features() * linear.out_features());
  }
  if (options.encoding() == GraphEncoding::laplacian) {
    const auto width = static_cast<double>(options.encoding_dim());
    flops += 2 * nodes * static_cast<double>(options.encoding_terms()) * (4 * width + 2 * width * width);
  } else if (options.encoding() == GraphEncoding::random_walk) {
    flops += 2 * nodes * static_cast<double>(options.encoding_terms() * options.encoding_dim());
  }
  flops += 2 * nodes * static_cast<double>(options.node_values() * width_of_features(options));
  return flops + 2 * edges * static_cast<double>(options.edge_values() * options.dim());
}

}  // namespace quest::models
