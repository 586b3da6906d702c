// A layer of GraphGPS against its formula in float64, and what it promises about graphs that are packed together.

#include "quest/nn/gps_layer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "tests/nn/graphs.h"
#include "tests/nn/plain_graphs.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr std::int64_t kDim = 24;
constexpr std::int64_t kHeads = 3;
const std::vector<std::int64_t> kGraphSizes = {5, 1, 13, 9};
constexpr std::int64_t kNodes = 28;
constexpr std::int64_t kEdges = 90;

at::Tensor offsets() { return at::tensor({0, 5, 6, 19, 28}, at::kInt); }

struct Case {
  std::string name;
  nn::MessagePassing message_passing;
  Formulation formulation;
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const Formulation& formulation : all_formulations()) {
    result.push_back({std::string(formulation.name) + "_gated_gcn", nn::MessagePassing::gated_gcn, formulation});
  }
  result.push_back({"quest_gine", nn::MessagePassing::gine, formulations::quest});
  return result;
}

class Layer : public ::testing::TestWithParam<Case> {};

TEST_P(Layer, IsTheFormula) {
  torch::manual_seed(1);
  const auto options =
      nn::GpsLayerOptions(kDim, kHeads).message_passing(GetParam().message_passing).formulation(GetParam().formulation);
  nn::GpsLayer layer(options);
  const nn::GraphEdges edges = random_edges(kNodes, kEdges);
  const nn::GraphFeatures given{.nodes = at::randn({kNodes, kDim}), .edges = at::randn({kEdges, kDim})};
  const Weights weights = wide_weights(*layer);
  const nn::GraphFeatures out = layer->forward(given, edges, {.cu_seqlens = offsets()});
  const nn::GraphFeatures exact = plain_gps_layer(
      options, weights, "", {given.nodes.to(at::kDouble), given.edges.to(at::kDouble)}, edges, kGraphSizes);
  EXPECT_TRUE(close(out.nodes, exact.nodes, {.of_largest = 2e-5}));
  EXPECT_TRUE(close(out.edges, exact.edges, {.of_largest = 2e-5}));
  (out.nodes.sin().sum() + out.edges.sin().sum()).backward();
  (exact.nodes.sin().sum() + exact.edges.sin().sum()).backward();
  double largest = 0.0;
  for (const auto& [name, weight] : weights) largest = std::max(largest, weight.grad().abs().max().item<double>());
  for (const auto& item : layer->named_parameters()) {
    // Biases in front of a norm have no gradient but what rounding leaves.
    EXPECT_TRUE(close(item.value().grad(), weights.at(item.key()).grad(), {.absolute = 2e-5 * largest})) << item.key();
  }
}

INSTANTIATE_TEST_SUITE_P(Nn, Layer, ::testing::ValuesIn(cases()), case_name);

TEST(GpsLayer, StartsAsTheExperimentDoes) {
  torch::manual_seed(2);
  const nn::GpsLayer layer(nn::GpsLayerOptions(kDim, kHeads));
  const double xavier = std::sqrt(6.0 / (4.0 * kDim));
  EXPECT_LE(layer->attn->qkv->weight.abs().max().item<double>(), xavier);
  EXPECT_GT(layer->attn->qkv->weight.abs().max().item<double>(), 0.95 * xavier);
  EXPECT_TRUE(all_zero(layer->attn->qkv->bias));
  EXPECT_TRUE(all_zero(layer->attn->proj->bias));
  const double fan_in = 1.0 / std::sqrt(static_cast<double>(kDim));
  EXPECT_LE(layer->gated_gcn->node_proj->weight.abs().max().item<double>(), fan_in);
  EXPECT_GT(layer->gated_gcn->node_proj->bias.abs().max().item<double>(), 0.8 * fan_in);
  EXPECT_TRUE(identical(layer->norm->weight, at::ones({kDim})));
}

TEST(GpsLayer, DropsInTrainingOnly) {
  torch::manual_seed(3);
  for (const auto message_passing : {nn::MessagePassing::gine, nn::MessagePassing::gated_gcn}) {
    nn::GpsLayer layer(
        nn::GpsLayerOptions(kDim, kHeads).message_passing(message_passing).dropout(0.2).attention_dropout(0.5));
    const nn::GraphEdges edges = random_edges(kNodes, kEdges);
    const nn::GraphFeatures given{.nodes = at::randn({kNodes, kDim}), .edges = at::randn({kEdges, kDim})};
    const auto run = [&] { return layer->forward(given, edges, {.cu_seqlens = offsets()}).nodes; };
    EXPECT_FALSE(at::equal(run(), run()));
    layer->eval();
    EXPECT_TRUE(identical(run(), run()));
  }
}

TEST(GpsLayer, CountsItsArithmetic) {
  constexpr double kMessages = 2.0 * (4 * 10 + 30) * 8 * 8 + 6.0 * 30 * 8;
  constexpr double kAttention = 2.0 * 10 * (4 * 8 * 8 + 2 * 10 * 8);
  constexpr double kMlp = 2.0 * 10 * 4 * 8 * 8;
  EXPECT_EQ(nn::GpsLayer(nn::GpsLayerOptions(8, 2))->forward_flops(10, 30), kMessages + kAttention + kMlp);
}

}  // namespace
}  // namespace quest::testing
