// GraphGps: the nine configurations of the experiment, and what packing graphs into a batch may not change.

#include "quest/models/graph_gps.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "tests/models/graph_batches.h"
#include "tests/nn/plain_graphs.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using models::GraphBatch;
using models::GraphEncoding;
using models::GraphGps;
using models::GraphGpsOptions;
using models::GraphHead;
using models::GraphPooling;

const std::vector<std::int64_t> kAtoms = {119, 4, 12, 12, 10, 6, 6, 2, 2};
const std::vector<std::int64_t> kBonds = {5, 6, 2};

struct Experiment {
  std::string name;
  GraphGpsOptions options;
  std::int64_t parameters;
};

GraphGpsOptions with_positions(std::int64_t dim, std::int64_t depth, std::int64_t heads, std::int64_t terms,
                               std::int64_t encoding_dim) {
  return GraphGpsOptions().dim(dim).depth(depth).heads(heads).encoding_terms(terms).encoding_dim(encoding_dim);
}

GraphGpsOptions superpixels(std::int64_t classes) {
  return with_positions(96, 4, 8, 10, 16).node_values(14).edge_values(2).outputs(classes);
}

GraphGpsOptions molecules() {
  return with_positions(96, 4, 4, 10, 16).node_categories(kAtoms).edge_categories(kBonds).head_layers(0);
}

std::vector<Experiment> experiments() {
  return {{"zinc",
           with_positions(64, 10, 4, 20, 28)
               .message_passing(nn::MessagePassing::gine)
               .encoding(GraphEncoding::random_walk)
               .node_categories({28})
               .edge_categories({4})
               .pooling(GraphPooling::sum)
               .head(GraphHead::halving),
           423717},
          {"cifar10",
           with_positions(52, 3, 4, 8, 8)
               .node_values(5)
               .edge_values(1)
               .outputs(10)
               .pooling(GraphPooling::mean)
               .head_layers(1),
           112726},
          {"pattern", with_positions(64, 6, 4, 16, 16).node_values(3), 337201},
          {"cluster", with_positions(48, 16, 8, 10, 16).node_values(7).outputs(6).dropout(0.1), 502054},
          {"pascalvoc_sp", superpixels(21), 510453},
          {"coco_sp", superpixels(81), 516273},
          {"pcqm_contact", molecules().head(GraphHead::pairs), 512704},
          {"peptides_func", molecules().pooling(GraphPooling::mean).outputs(10), 504362},
          {"peptides_struct", molecules().pooling(GraphPooling::mean).outputs(11), 504459}};
}

std::string experiment_name(const ::testing::TestParamInfo<Experiment>& info) { return info.param.name; }

std::int64_t parameter_count(const GraphGps& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model->parameters()) count += parameter.numel();
  return count;
}

class EveryExperiment : public ::testing::TestWithParam<Experiment> {
 protected:
  void SetUp() override { torch::manual_seed(1); }

  [[nodiscard]] static GraphGpsOptions shallow() {
    GraphGpsOptions options = GetParam().options;
    return options.depth(2);
  }
  [[nodiscard]] static GraphBatch graph(std::int64_t nodes, std::int64_t edges) {
    return one_graph(GetParam().options, nodes, edges);
  }
};

TEST_P(EveryExperiment, HasThePublishedNumberOfParameters) {
  GraphGpsOptions options = GetParam().options;
  EXPECT_EQ(parameter_count(GraphGps(options)), GetParam().parameters);
  EXPECT_EQ(parameter_count(GraphGps(options.formulation(formulations::standard))), GetParam().parameters);
}

TEST_P(EveryExperiment, PredictsAndLearns) {
  GraphGps model(shallow());
  const GraphBatch batch = joined({graph(12, 40), graph(1, 0), graph(7, 15)});
  const at::Tensor out = model->forward(batch);
  const auto& options = model->options;
  EXPECT_EQ(out.size(0), options.pooling() == GraphPooling::none ? 20 : 3);
  EXPECT_EQ(out.size(1), options.head() == GraphHead::pairs ? options.dim() : options.outputs());
  out.square().sum().backward();
  for (const auto& item : model->named_parameters()) {
    // Nobody reads the edges after the last layer.
    if (item.key().find("layers.1.gated_gcn.edge_norm") != std::string::npos) continue;
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(all_finite(item.value().grad())) << item.key();
  }
}

TEST_P(EveryExperiment, AGraphAloneIsTheGraphInABatch) {
  GraphGps model(shallow());
  for (int step = 0; step < 2; ++step) static_cast<void>(model->forward(joined({graph(30, 90), graph(20, 70)})));
  model->eval();
  const at::NoGradGuard no_gradients;
  const std::vector<GraphBatch> graphs = {graph(12, 40), graph(1, 0), graph(40, 300), graph(5, 0), graph(2, 2)};
  const at::Tensor together = model->forward(joined(graphs));
  std::vector<at::Tensor> alone;
  for (const GraphBatch& one : graphs) alone.push_back(model->forward(one));
  EXPECT_TRUE(close(together, at::cat(alone), {.of_largest = 5e-6}));
}

TEST_P(EveryExperiment, TheOrderOfNodesDoesNotMatter) {
  GraphGps model(shallow());
  model->eval();
  const at::NoGradGuard no_gradients;
  const GraphBatch given = graph(25, 100);
  const at::Tensor order = at::randperm(25, at::kLong);
  const at::Tensor expected = model->forward(given);
  const at::Tensor actual = model->forward(reordered(given, order));
  const bool is_pooled = model->options.pooling() != GraphPooling::none;
  EXPECT_TRUE(close(actual, is_pooled ? expected : expected.index_select(0, order), {.of_largest = 5e-6}));
}

INSTANTIATE_TEST_SUITE_P(Models, EveryExperiment, ::testing::ValuesIn(experiments()), experiment_name);

GraphGpsOptions small() {
  return with_positions(24, 2, 3, 4, 8).node_values(5).edge_values(2).outputs(3).attention_dropout(0.0);
}

TEST(GraphGps, EveryFormulationKeepsGraphsApart) {
  torch::manual_seed(2);
  for (const Formulation& formulation : all_formulations()) {
    GraphGps model(small().formulation(formulation));
    model->eval();
    const std::vector<GraphBatch> graphs = {one_graph(small(), 9, 20), one_graph(small(), 17, 60)};
    const at::Tensor together = model->forward(joined(graphs));
    const at::Tensor alone = at::cat({model->forward(graphs[0]), model->forward(graphs[1])});
    EXPECT_TRUE(close(together, alone, {.of_largest = 5e-6})) << formulation.name;
  }
}

TEST(GraphGps, IsItsLayersOneAfterTheOther) {
  torch::manual_seed(3);
  for (const auto message_passing : {nn::MessagePassing::gine, nn::MessagePassing::gated_gcn}) {
    const GraphGpsOptions options =
        small().encoding(GraphEncoding::none).message_passing(message_passing).pooling(GraphPooling::mean);
    GraphGps model(options);
    const GraphBatch batch = joined({one_graph(options, 9, 20), one_graph(options, 17, 60)});
    const Weights weights = wide_weights(*model);
    const auto linear = [&](const std::string& name, const at::Tensor& x) {
      return at::linear(x.to(at::kDouble), weights.at(name + ".weight"), weights.at(name + ".bias"));
    };
    nn::GraphFeatures x{.nodes = linear("node_encoder.linear", batch.node_values),
                        .edges = linear("edge_encoder.linear", batch.edge_values)};
    const auto layer = nn::GpsLayerOptions(24, 3).message_passing(message_passing);
    for (const auto* prefix : {"layers.0.", "layers.1."}) {
      x = plain_gps_layer(layer, weights, prefix, x, batch.edges, {9, 17});
    }
    at::Tensor rows = at::stack({x.nodes.narrow(0, 0, 9).mean(0), x.nodes.narrow(0, 9, 17).mean(0)});
    for (const auto* name : {"head.0", "head.1"}) {
      const at::Tensor hidden = linear(name, rows).relu();
      rows = hidden / hidden.square().sum(-1, true).sqrt();
    }
    EXPECT_TRUE(close(model->forward(batch), linear("head.2", rows), {.of_largest = 2e-5}));
  }
}

TEST(GraphGps, TakesGraphsOfAnySize) {
  torch::manual_seed(4);
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {{0, 0}, {1, 0}, {1, 2}, {6, 0}, {6, 1}};
  for (const auto pooling : {GraphPooling::none, GraphPooling::mean, GraphPooling::sum}) {
    GraphGps model(small().pooling(pooling));
    for (const bool training : {true, false}) {
      model->train(training);
      for (const auto& [nodes, edges] : sizes) {
        const GraphBatch graph = one_graph(small(), nodes, edges);
        const at::Tensor out = model->forward(graph);
        EXPECT_EQ(out.size(0), pooling == GraphPooling::none ? nodes : 1);
        EXPECT_TRUE(all_finite(out)) << nodes << " nodes, " << edges << " edges";
        if (!training) continue;
        out.sum().backward();
        for (const at::Tensor& parameter : model->parameters()) {
          if (parameter.grad().defined()) {
            EXPECT_TRUE(all_finite(parameter.grad())) << nodes;
          }
        }
      }
      EXPECT_TRUE(all_finite(
          model->forward(joined({one_graph(small(), 0, 0), one_graph(small(), 3, 4), one_graph(small(), 0, 0)}))));
    }
    for (const auto& buffer : model->named_buffers()) EXPECT_TRUE(all_finite(buffer.value())) << buffer.key();
  }
}

TEST(GraphGps, TakesThousandsOfNodes) {
  torch::manual_seed(5);
  GraphGps model(small());
  model->eval();
  const at::NoGradGuard no_gradients;
  const GraphBatch large = one_graph(small(), 5000, 20000);
  const GraphBatch little = one_graph(small(), 9, 20);
  const at::Tensor together = model->forward(joined({large, little}));
  EXPECT_TRUE(all_finite(together));
  EXPECT_TRUE(close(together.narrow(0, 5000, 9), model->forward(little), {.of_largest = 5e-6}));
}

TEST(GraphGps, NaNStaysInItsGraph) {
  torch::manual_seed(6);
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const auto message_passing : {nn::MessagePassing::gine, nn::MessagePassing::gated_gcn}) {
    for (const Formulation& formulation : all_formulations()) {
      GraphGps model(small().formulation(formulation).message_passing(message_passing));
      model->eval();
      std::vector<GraphBatch> graphs = {one_graph(small(), 9, 20), one_graph(small(), 8, 30), one_graph(small(), 7, 9)};
      const at::Tensor expected = model->forward(joined(graphs));
      graphs[1].node_values[2][1] = kNaN;
      graphs[1].edge_values[3][0] = kNaN;
      const at::Tensor actual = model->forward(joined(graphs));
      EXPECT_TRUE(identical(actual.narrow(0, 0, 9), expected.narrow(0, 0, 9))) << formulation.name;
      EXPECT_TRUE(identical(actual.narrow(0, 17, 7), expected.narrow(0, 17, 7))) << formulation.name;
      EXPECT_TRUE(at::isnan(actual.narrow(0, 9, 8)).all().item<bool>()) << formulation.name;
    }
  }
}

// What the layers are made of has the same bits on any number of threads; LibTorch's matrix products between them have
// the same bits on the same number.
TEST(GraphGps, NoRunShows) {
  torch::manual_seed(7);
  std::vector<GraphBatch> graphs;
  for (int i = 0; i < 6; ++i) graphs.push_back(one_graph(small(), 40 + i, 700));
  const GraphBatch batch = joined(graphs);
  const auto step = [&] {
    torch::manual_seed(8);
    GraphGps model(small().dropout(0.1).attention_dropout(0.5));
    std::vector<at::Tensor> results = {model->forward(batch)};
    results[0].sin().sum().backward();
    for (const at::Tensor& parameter : model->parameters()) {
      if (parameter.grad().defined()) results.push_back(parameter.grad());
    }
    return results;
  };
  const std::vector<at::Tensor> expected = step();
  const std::vector<at::Tensor> again = step();
  ASSERT_EQ(again.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(identical(again[i], expected[i])) << i;
}

TEST(GraphGps, CountsItsArithmetic) {
  const GraphGps model(GraphGpsOptions()
                           .dim(8)
                           .depth(3)
                           .heads(2)
                           .encoding_terms(4)
                           .encoding_dim(2)
                           .node_values(5)
                           .edge_values(2)
                           .outputs(6)
                           .head_layers(1));
  const double layers = 3 * nn::GpsLayer(nn::GpsLayerOptions(8, 2))->forward_flops(10, 30);
  const double encoders = 2.0 * 10 * 4 * (2 * 4 + 4 * 2) + 2.0 * 10 * 5 * 6 + 2.0 * 30 * 2 * 8;
  EXPECT_EQ(model->forward_flops(10, 30), layers + encoders + 2.0 * 10 * (8 * 8 + 8 * 6));
}

TEST(GraphGps, SaysWhatItTakes) {
  EXPECT_THROW(GraphGps{GraphGpsOptions()}, c10::Error);
  EXPECT_THROW(GraphGps(small().encoding_dim(24)), c10::Error);
  EXPECT_THROW(GraphGps(small().head(GraphHead::pairs).pooling(GraphPooling::mean)), c10::Error);
  EXPECT_THROW(GraphGps(small().head(GraphHead::halving).head_layers(5)), c10::Error);
  EXPECT_THROW(GraphGps(small().heads(5)), c10::Error);
  GraphGps model(small());
  GraphBatch batch = one_graph(small(), 5, 8);
  batch.lap_vectors = at::zeros({5, 3});
  EXPECT_THROW(model->forward(batch), c10::Error);
  batch.lap_vectors = at::Tensor();
  EXPECT_THROW(model->forward(batch), c10::Error);
  batch = one_graph(small(), 5, 8);
  batch.edges.source[0] = 5;
  EXPECT_THROW(model->forward(batch), c10::Error);
}

}  // namespace
}  // namespace quest::testing
