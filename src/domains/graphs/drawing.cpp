#include "domains/graphs/drawing.h"

#include <torch/utils.h>

#include <algorithm>
#include <string>
#include <vector>

#include "domains/graphs/graph_task.h"
#include "domains/graphs/layout.h"
#include "domains/graphs/objective.h"

namespace quest::graphs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostNodes = 1000;
constexpr std::size_t kMostEdges = 4000;
constexpr std::int64_t kMostColors = 6;  // a page has no more

std::vector<Edge> undirected(const data::Graph& graph) {
  const auto source = graph.source.to(at::kLong);
  const auto target = graph.target.to(at::kLong);
  std::vector<Edge> edges;
  for (std::int64_t i = 0; i < source.size(0); ++i) {
    const auto [a, b] = std::minmax({source[i].item<std::int64_t>(), target[i].item<std::int64_t>()});
    edges.emplace_back(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
  }
  std::ranges::sort(edges);
  const auto repeated = std::ranges::unique(edges);
  edges.erase(repeated.begin(), repeated.end());
  return edges;
}

struct Drawn {
  Json panel;
  std::int64_t nodes = 0;
  std::int64_t right = 0;
};

Drawn drawn(GraphTask& task, std::int64_t number) {
  const auto graph = task.set().graph(number);
  const auto batch = task.set().batch({.first = number, .last = number + 1});
  const auto logits = task.outputs(batch.to(task.model().parameters().front().device()));
  const auto predicted = predicted_classes(logits).cpu();
  const auto labels = graph.labels.to(at::kLong);
  const auto edges = undirected(graph);
  const auto places = layout(static_cast<std::size_t>(graph.nodes), edges);
  const bool has_colors = task.set().schema().outputs <= kMostColors;
  Drawn result{.panel = {{"kind", "graph"}, {"nodes", Json::array()}, {"edges", Json::array()}}, .nodes = graph.nodes};
  for (std::int64_t node = 0; node < graph.nodes; ++node) {
    const auto guess = predicted[node].item<std::int64_t>();
    const auto label = labels[node].item<std::int64_t>();
    const auto& place = places[static_cast<std::size_t>(node)];
    result.right += static_cast<std::int64_t>(guess == label);
    result.panel["nodes"].push_back(
        {{"x", place.x},
         {"y", place.y},
         {"kind", has_colors ? "class " + std::to_string(guess) : std::string(guess == label ? "right" : "wrong")},
         {"wrong", guess != label},
         {"text", "node " + std::to_string(node) + "\ntaken for class " + std::to_string(guess) + "\nof class " +
                      std::to_string(label)}});
  }
  for (const auto& [a, b] : edges) {
    if (result.panel["edges"].size() < kMostEdges) result.panel["edges"].push_back({a, b});
  }
  result.panel["title"] = "graph " + std::to_string(number) + ", " + std::to_string(result.right) + " of " +
                          std::to_string(graph.nodes) + " nodes right";
  return result;
}

class GraphDrawing final : public eval::Evaluation {
 public:
  void describe(recipe::Fields& fields) override {
    fields.integer("drawing.graphs", graphs_, {.least = 1, .most = 12}, "how many, the first of the test split");
  }

  [[nodiscard]] std::string obstacle(const train::Task& task) const override {
    const auto* graphs = dynamic_cast<const GraphTask*>(&task);
    if (graphs != nullptr && graphs->set().schema().task == data::GraphTask::node_classes) return "";
    return "needs a task that tells classes of nodes";
  }

  [[nodiscard]] eval::Findings run(const eval::Subject& subject, const eval::Callbacks& callbacks) override {
    auto& task = dynamic_cast<GraphTask&>(subject.task);
    const auto test = task.used("test");
    Json panels = Json::array();
    double nodes = 0.0;
    double right = 0.0;
    for (auto graph = test.first; graph < test.last && std::ssize(panels) < graphs_; ++graph) {
      if (callbacks.should_stop()) throw eval::Stopped("the drawing of graphs was stopped");
      const auto size = task.set().nodes_of(graph);
      if (size == 0 || size > kMostNodes) continue;
      auto one = drawn(task, graph);
      nodes += static_cast<double>(one.nodes);
      right += static_cast<double>(one.right);
      panels.push_back(std::move(one.panel));
      callbacks.on_progress(static_cast<double>(panels.size()) / static_cast<double>(graphs_), "drawing graphs");
    }
    eval::Findings findings{.metrics = {{"nodes", nodes}, {"right", right}}};
    if (panels.empty()) return findings;
    findings.figures.push_back(
        {{"id", "graphs"},
         {"title", "Graphs and what the model takes their nodes for"},
         {"caption", "Graphs of the test split, in " + task.set().schema().name +
                         ". A node's colour is the class that the model gives it; a ring is a node "
                         "of another class. Point at a node to read both."},
         {"panels", std::move(panels)}});
    return findings;
  }

 private:
  std::int64_t graphs_ = 3;
};

}  // namespace

std::unique_ptr<eval::Evaluation> graph_drawing() { return std::make_unique<GraphDrawing>(); }

}  // namespace quest::graphs
