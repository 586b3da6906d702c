#include "models/graph_gps_fields.h"

#include <string>

#include "models/fields.h"

namespace quest::models {
namespace {

void describe_encoding(recipe::Fields& fields, GraphGpsOptions& options) {
  using recipe::IntegerRange;
  fields.choice<GraphEncoding>("model.encoding", options.encoding(),
                               {{"none", GraphEncoding::none},
                                {"laplacian", GraphEncoding::laplacian},
                                {"random_walk", GraphEncoding::random_walk}},
                               "what tells a node where it stands in its graph");
  fields.integer("model.encoding_terms", options.encoding_terms(), IntegerRange::from(1),
                 "eigenvectors of the Laplacian, or steps of the random walk");
  fields.integer("model.encoding_dim", options.encoding_dim(), IntegerRange::from(1),
                 "the part of model.dim that the encoding gets");
  fields.rule([&options]() -> std::string {
    if (options.encoding() == GraphEncoding::none || options.encoding_dim() < options.dim()) return "";
    return "model.encoding_dim must be below model.dim, " + std::to_string(options.dim()) + "; got " +
           std::to_string(options.encoding_dim());
  });
}

void describe_head(recipe::Fields& fields, GraphGpsOptions& options) {
  fields.choice<GraphPooling>("model.pooling", options.pooling(),
                              {{"none", GraphPooling::none}, {"mean", GraphPooling::mean}, {"sum", GraphPooling::sum}},
                              "how the nodes of a graph become one vector; none: every node has a prediction");
  fields.choice<GraphHead>("model.head", options.head(),
                           {{"mlp", GraphHead::mlp}, {"halving", GraphHead::halving}, {"pairs", GraphHead::pairs}},
                           "mlp: hidden layers of model.dim with rows of length 1; halving: each half as wide as the "
                           "one before; pairs: the products of two nodes' rows");
  fields.integer("model.head_layers", options.head_layers(), {.least = 0, .most = kMostHeadLayers},
                 "hidden layers of the head; pairs has none");
  fields.rule([&options]() -> std::string {
    if (options.head() != GraphHead::pairs || options.pooling() == GraphPooling::none) return "";
    return "model.head = \"pairs\" needs model.pooling = \"none\": pairs are pairs of nodes";
  });
  fields.rule([&options]() -> std::string {
    if (options.head() != GraphHead::halving || (options.dim() >> options.head_layers()) > 0) return "";
    return "model.dim = " + std::to_string(options.dim()) +
           " cannot be halved model.head_layers = " + std::to_string(options.head_layers()) + " times";
  });
}

}  // namespace

void describe(recipe::Fields& fields, GraphGpsOptions& options) {
  using recipe::Range;
  describe_formulation(fields, options.formulation());
  describe_transformer(fields, options.dim(), options.depth(), options.heads());
  fields.choice<nn::MessagePassing>("model.message_passing", options.message_passing(),
                                    {{"gine", nn::MessagePassing::gine}, {"gatedgcn", nn::MessagePassing::gated_gcn}},
                                    "what a layer sends along the edges");
  fields.number("model.dropout", options.dropout(), Range::from_to_below(0, 1), "dropout of features");
  fields.number("model.attention_dropout", options.attention_dropout(), Range::from_to_below(0, 1),
                "dropout of attention weights");
  describe_encoding(fields, options);
  describe_head(fields, options);
}

}  // namespace quest::models
