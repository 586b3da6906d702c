#include "domains/graphs/graph_task.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/domains/graphs/small_benchmarks.h"
#include "tests/domains/task_experiment.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"
#include "train/run/evaluation_file.h"

namespace quest::graphs {
namespace {

using testing::has;
using testing::message_of;
using Assignments = std::vector<std::string>;

class Experiment : public testing::TaskExperiment {
 public:
  explicit Experiment(const std::string& recipe, const Assignments& assignments)
      : TaskExperiment(graph_task_factory(), "graphs/" + recipe, assignments) {}
};

struct Published {
  const char* recipe;
  const char* set;
  std::int64_t parameters;
  const char* metric;
};

constexpr std::array<Published, 9> kPublished = {{
    {"zinc", "ZINC", 423717, "absolute_error"},
    {"cifar10", "CIFAR10", 112726, "accuracy"},
    {"pattern", "PATTERN", 337201, "class_accuracy"},
    {"cluster", "CLUSTER", 502054, "class_accuracy"},
    {"pascalvoc-sp", "PascalVOC-SP", 510453, "f1"},
    {"coco-sp", "COCO-SP", 516273, "f1"},
    {"pcqm-contact", "PCQM-Contact", 512704, "mrr"},
    {"peptides-func", "Peptides-func", 504362, "average_precision"},
    {"peptides-struct", "Peptides-struct", 504459, "absolute_error"},
}};

class Graphs : public testing::FolderFixture {
 protected:
  Graphs() { ::setenv("XDG_CACHE_HOME", in_folder("cache").c_str(), 1); }
  ~Graphs() override { ::unsetenv("XDG_CACHE_HOME"); }

  // The benchmark as a few graphs, and a model of the recipe's kind that is quickly trained.
  [[nodiscard]] Assignments small(const std::string& set, const Assignments& more = {}) const {
    testing::write_small_benchmark(in_folder("data"), set);
    Assignments assignments = {"data.folder=" + in_folder("data").string(), "train.epochs=2", "train.batch_size=3",
                               "schedule.warmup_epochs=0"};
    assignments.insert(assignments.end(), more.begin(), more.end());
    return assignments;
  }
  [[nodiscard]] Assignments shallow(const std::string& set, Assignments more = {}) const {
    more.insert(more.begin(), {"model.depth=1", "model.dim=32", "model.heads=2", "model.encoding_dim=8"});
    return small(set, more);
  }
};

std::string recipe_name(const ::testing::TestParamInfo<Published>& info) {
  std::string name = info.param.recipe;
  std::ranges::replace(name, '-', '_');
  return name;
}

class EveryBenchmark : public Graphs, public ::testing::WithParamInterface<Published> {};

TEST_P(EveryBenchmark, HasThePublishedModelAndTrains) {
  const auto& published = GetParam();
  std::int64_t parameters = 0;
  for (const auto& parameter : Experiment(published.recipe, small(published.set)).task()->model().parameters()) {
    parameters += parameter.numel();
  }
  EXPECT_EQ(parameters, published.parameters);
  for (const char* formulation : {"quest", "standard"}) {
    Experiment experiment(published.recipe, shallow(published.set, {"model.formulation=" + std::string(formulation)}));
    const auto ending = experiment.train_in(in_folder(formulation));
    EXPECT_EQ(ending.status, "finished");
    EXPECT_TRUE(std::isfinite(ending.metrics.at(published.metric))) << formulation;
    EXPECT_TRUE(std::isfinite(ending.metrics.at("test_" + std::string(published.metric)))) << formulation;
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, EveryBenchmark, ::testing::ValuesIn(kPublished), recipe_name);

// Whose nodes' class is that of the node's neighbour in the ring: nothing without messages or attention.
void write_copied_types(const std::filesystem::path& folder) {
  torch::manual_seed(5);
  const auto schema = data::benchmark_schema("CLUSTER");
  data::GraphPacker packer(schema);
  for (const char* split : {"train", "validation", "test"}) {
    packer.begin_split(split);
    for (int i = 0; i < 16; ++i) {
      const auto ring = torch::arange(20);
      data::Graph graph{.nodes = 20, .source = ring, .target = (ring + 1).remainder(20)};
      graph.node_ids = testing::random_ids(20, {6});
      graph.labels = graph.node_ids.squeeze(1).roll(1);
      packer.add(graph);
    }
  }
  std::filesystem::create_directories(folder);
  data::save_graph_set(folder / "CLUSTER.safetensors", packer.finish());
}

TEST_F(Graphs, WhatNeighboursAreIsLearned) {
  write_copied_types(in_folder("data"));
  Experiment experiment(
      "cluster", {"data.folder=" + in_folder("data").string(), "train.epochs=12", "train.batch_size=4",
                  "schedule.warmup_epochs=0", "model.depth=1", "model.dim=32", "model.heads=2", "optimizer.lr=0.01",
                  "data.train_graphs=12", "data.evaluated_graphs=7"});
  const auto ending = experiment.train_in(in_folder("run"));
  EXPECT_GT(ending.metrics.at("test_class_accuracy"), 0.9) << "chance is 0.167";
  EXPECT_EQ(experiment.task()->train_size(), 12);
}

TEST_F(Graphs, AResumedTrainingEndsWithTheBitsOfAnUninterruptedOne) {
  for (const auto& [recipe, set] : {std::pair("pcqm-contact", "PCQM-Contact"), std::pair("cluster", "CLUSTER")}) {
    const auto assignments = shallow(set, {"model.dropout=0.1"});
    const auto whole = in_folder(std::string(set) + "-whole");
    const auto parts = in_folder(std::string(set) + "-parts");
    Experiment(recipe, assignments).train_in(whole);
    EXPECT_EQ(Experiment(recipe, assignments).train_in(parts, 4).status, "interrupted");
    EXPECT_EQ(Experiment(recipe, assignments).train_in(parts).status, "finished");
    EXPECT_EQ(testing::differing_tensors(whole, parts), std::vector<std::string>{}) << set;
  }
}

TEST_F(Graphs, ThreadsThatLoadAheadChangeNothing) {
  const auto assignments = shallow("PCQM-Contact");
  Experiment("pcqm-contact", assignments).train_in(in_folder("alone"));
  Experiment("pcqm-contact", assignments).train_in(in_folder("ahead"), 1000, /*workers=*/2);
  EXPECT_EQ(testing::differing_tensors(in_folder("alone"), in_folder("ahead")), std::vector<std::string>{});
}

TEST_F(Graphs, ValidationChoosesAndTestIsReported) {
  Experiment experiment("zinc", shallow("ZINC", {"train.epochs=4"}));
  experiment.train_in(in_folder("run"));
  double best = std::numeric_limits<double>::infinity();
  double reported = 0.0;
  for (const auto& metrics : experiment.listener.evaluations) {
    if (metrics.at("absolute_error") >= best) continue;
    best = metrics.at("absolute_error");
    reported = metrics.at("test_absolute_error");
  }
  const auto file = nlohmann::json::parse(testing::text_of(in_folder("run") / train::kEvaluationFolder / "best.json"));
  EXPECT_DOUBLE_EQ(file["metrics"]["test_absolute_error"].get<double>(), reported);
}

TEST_F(Graphs, TheFirstEpochTeachesNothing) {
  Experiment experiment("zinc", shallow("ZINC", {"train.epochs=1", "schedule.warmup_epochs=1"}));
  const auto before = experiment.task();
  experiment.train_in(in_folder("run"));
  const auto weights = data::load_safetensors(in_folder("run") / train::kResumeCheckpoint);
  double moved = 0.0;
  for (const auto& [name, tensor] : weights.tensors) {
    const auto* parameter = before->model().named_parameters().find(name.substr(name.find(':') + 1));
    if (parameter != nullptr) moved = std::max(moved, (*parameter - tensor).abs().max().item<double>());
  }
  EXPECT_LT(moved, 1e-7) << "the rate is lr · 1e-6";
}

TEST_F(Graphs, TheBatchesOfAnEvaluationDoNotShow) {
  const auto values = [&](const char* batch) {
    Experiment experiment("peptides-func", shallow("Peptides-func", {"data.evaluation_batch=" + std::string(batch)}));
    const auto task = experiment.task();
    const torch::NoGradGuard no_gradients;
    task->model().eval();
    metrics::Metrics metrics;
    task->evaluate({.name = "test"}, metrics);
    return metrics.values();
  };
  const auto one = values("1");
  const auto all = values("128");
  EXPECT_NEAR(one.at("average_precision"), all.at("average_precision"), 1e-6);
  EXPECT_NEAR(one.at("loss"), all.at("loss"), 1e-5);
}

TEST_F(Graphs, SayWhatDoesNotFit) {
  const auto refusal = [&](const char* recipe, const std::string& set, const Assignments& more) {
    return message_of([&] { (void)Experiment(recipe, shallow(set, more)).task(); });
  };
  EXPECT_TRUE(has(refusal("cluster", "CLUSTER", {"data.metric=mrr"}),
                  R"(data.metric = "mrr" is for pairs of nodes, and CLUSTER has classes of nodes; set data.metric = )"
                  R"("class_accuracy" or "f1")"));
  EXPECT_TRUE(has(refusal("zinc", "ZINC", {"model.pooling=none"}),
                  R"(ZINC has targets of graphs; set model.pooling = "mean" or "sum")"));
  EXPECT_TRUE(has(refusal("cluster", "CLUSTER", {"model.pooling=mean"}), R"(set model.pooling = "none")"));
  EXPECT_TRUE(has(refusal("pcqm-contact", "PCQM-Contact", {"model.head=mlp"}), R"(set model.head = "pairs")"));
  EXPECT_TRUE(has(refusal("cluster", "CLUSTER", {"data.metric=recall"}), "class_accuracy"));
  ::setenv("QUEST_DATA", in_folder("nothing").c_str(), 1);
  EXPECT_TRUE(has(Experiment("zinc", {}).factory().missing_data(), "ZINC"));
  EXPECT_EQ(Experiment("cluster", {}).factory().missing_data(), "") << "it is generated";
  ::unsetenv("QUEST_DATA");
}

TEST_F(Graphs, DataIsANameOrAFolder) {
  const auto factory = graph_task_factory();
  using Settings = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(factory->data_settings("PATTERN"), (Settings{{"data.name", "PATTERN"}}));
  EXPECT_EQ(factory->data_settings("/some/folder"), (Settings{{"data.folder", "/some/folder"}}));
}

}  // namespace
}  // namespace quest::graphs
