#include "domains/domain.h"

#include <algorithm>
#include <string>
#include <vector>

#include "data/sets/graph_benchmarks.h"
#include "domains/graphs/drawing.h"
#include "domains/graphs/entropy_figure.h"
#include "domains/graphs/graph_loop.h"
#include "domains/graphs/graph_task.h"

namespace quest::graphs {
namespace {

constexpr std::int64_t kListedGraphs = 256;

// A JSON list of lists, [nodes, edges] of each of the first graphs of the training split.
std::string sizes_of(const GraphTask& task) {
  const auto& tensors = task.set().tensors();
  const auto* nodes = tensors.offsets.const_data_ptr<std::int64_t>();
  const auto* edges = tensors.in_edges.const_data_ptr<std::int64_t>();
  const auto train = task.used("train");
  std::string text;
  for (auto graph = train.first; graph < std::min(train.last, train.first + kListedGraphs); ++graph) {
    text += (text.empty() ? "[" : ", [") + std::to_string(nodes[graph + 1] - nodes[graph]) + ", " +
            std::to_string(edges[nodes[graph + 1]] - edges[nodes[graph]]) + "]";
  }
  return "[" + text + "]";
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

std::vector<std::pair<std::string, std::string>> loop_facts(train::Task& task) {
  const auto& options = dynamic_cast<models::GraphGpsImpl&>(task.model()).options;
  return {{"sizes", sizes_of(dynamic_cast<const GraphTask&>(task))},
          {"outputs", std::to_string(options.outputs())},
          {"node_categories", list_of(options.node_categories())},
          {"node_values", std::to_string(options.node_values())},
          {"edge_categories", list_of(options.edge_categories())},
          {"edge_values", std::to_string(options.edge_values())}};
}

}  // namespace

domains::Domain domain() {
  return {.name = "graphs",
          .tasks = {{.name = "graphs",
                     .summary = "GraphGPS on benchmarks of graphs: classes of nodes or graphs, targets, pairs",
                     .factory = graph_task_factory,
                     .python_loop = domains::PythonLoop{.program = kGraphLoop, .facts = loop_facts}}},
          .data_sets = data::graph_benchmark_sets(),
          .evaluations = {{.name = "drawing",
                           .summary = "draw a few graphs with what the model takes their nodes for",
                           .make = graph_drawing}},
          .figures = entropy_figures};
}

}  // namespace quest::graphs
