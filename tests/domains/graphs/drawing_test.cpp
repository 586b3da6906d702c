#include "domains/graphs/drawing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "domains/graphs/entropy_figure.h"
#include "domains/graphs/graph_task.h"
#include "report/file_figures.h"
#include "tests/domains/graphs/small_benchmarks.h"
#include "tests/domains/task_experiment.h"
#include "tests/testing/folder_fixture.h"
#include "train/run/figure_file.h"

namespace quest::graphs {
namespace {

class Drawing : public testing::FolderFixture {
 protected:
  Drawing() { ::setenv("XDG_CACHE_HOME", in_folder("cache").c_str(), 1); }
  ~Drawing() override { ::unsetenv("XDG_CACHE_HOME"); }

  [[nodiscard]] testing::TaskExperiment experiment(const std::string& recipe, const std::string& set) const {
    testing::write_small_benchmark(in_folder("data"), set);
    return {graph_task_factory(),
            "graphs/" + recipe,
            {"data.folder=" + in_folder("data").string(), "model.depth=2", "model.dim=32", "model.heads=2",
             "model.encoding_dim=8", "train.epochs=1", "train.monitor_every=1"}};
  }

  [[nodiscard]] static eval::Findings draw(train::Task& task) {
    const torch::NoGradGuard no_gradients;
    task.model().eval();
    const auto processes = train::communicator_from_environment(at::kCPU);
    const train::Recipe recipe;
    return graph_drawing()->run({.task = task, .recipe = recipe, .processes = *processes, .scratch = {}}, {});
  }
};

TEST_F(Drawing, ShowsEveryNodeOfAFewGraphs) {
  const auto task = experiment("cluster", "CLUSTER").task();
  const auto findings = draw(*task);
  ASSERT_EQ(findings.figures.size(), 1U);
  train::write_figure(in_folder("run"), findings.figures[0]);
  const auto files = report::read_figures(in_folder("run"));
  ASSERT_EQ(files.problems, std::vector<std::string>{});
  const auto& panels = files.figures.at(0).panels;
  ASSERT_EQ(panels.size(), 3U);
  double right = 0.0;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto& graph = std::get<report::FileGraph>(panels[i].content);
    EXPECT_EQ(graph.nodes.size(), 12 + 3 * i);
    for (const auto& node : graph.nodes) right += node.is_wrong ? 0.0 : 1.0;
  }
  EXPECT_EQ(findings.metrics.at("right"), right);
  EXPECT_EQ(findings.metrics.at("nodes"), 12.0 + 15.0 + 18.0);
  const std::vector<report::RunFigures> runs = {{"cluster", files.figures}};
  const auto figures = report::file_figures(runs);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_NE(report::figure_html(figures[0]).find("taken for class"), std::string::npos);
}

TEST_F(Drawing, TellsManyClassesApartByRightAndWrong) {
  const auto task = experiment("coco-sp", "COCO-SP").task();
  const auto figure = draw(*task).figures.at(0);
  for (const auto& node : figure["panels"][0]["nodes"]) {
    EXPECT_EQ(node["kind"], node["wrong"].get<bool>() ? "wrong" : "right");
  }
}

TEST_F(Drawing, NeedsClassesOfNodes) {
  EXPECT_EQ(graph_drawing()->obstacle(*experiment("zinc", "ZINC").task()), "needs a task that tells classes of nodes");
  EXPECT_EQ(graph_drawing()->obstacle(*experiment("coco-sp", "COCO-SP").task()), "");
}

TEST_F(Drawing, EntropyIsShownByLayerAndFormulation) {
  experiment("cluster", "CLUSTER").train_in(in_folder("run"));
  std::vector<paper::Run> runs = {{.folder = in_folder("run"),
                                   .task = "graphs",
                                   .settings = {{"data.name", "CLUSTER"}, {"model.formulation", "quest"}},
                                   .status = "finished"}};
  const auto figures = entropy_figures(runs);
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].panels.size(), 1U);
  EXPECT_EQ(figures[0].values.rows.size(), 2U) << "layers";
  runs[0].status = "running";
  EXPECT_TRUE(entropy_figures(runs).empty());
}

}  // namespace
}  // namespace quest::graphs
