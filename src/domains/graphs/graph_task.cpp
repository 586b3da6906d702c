#include "domains/graphs/graph_task.h"

#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/sets/encoded_graphs.h"
#include "data/sets/graph_benchmarks.h"
#include "data/sets/locator.h"
#include "data/sets/published_graphs.h"
#include "domains/graphs/objective.h"
#include "metrics/mean.h"
#include "models/graph_gps_fields.h"
#include "recipe/settings.h"

namespace quest::graphs {
namespace {

constexpr std::int64_t kNegativesPerPair = 2;

struct GraphOptions {
  data::GraphSource source;
  std::string metric = "class_accuracy";
  std::int64_t train_graphs = 0;
  std::int64_t evaluated_graphs = 0;
  std::int64_t evaluation_batch = 128;
  models::GraphGpsOptions model;
};

void describe_data(recipe::Fields& fields, GraphOptions& options) {
  using recipe::IntegerRange;
  fields.choice("data.name", options.source.name, {data::kGraphBenchmarks.begin(), data::kGraphBenchmarks.end()},
                "a benchmark");
  fields.text("data.folder", options.source.folder, "where it lies; empty: where `quest data` looks");
  std::vector<std::string> metrics;
  for (const auto& objective : objectives()) metrics.emplace_back(objective.metric);
  fields.choice("data.metric", options.metric, metrics, "what the graphs are judged by; the loss goes with it");
  fields.integer("data.train_graphs", options.train_graphs, IntegerRange::from(0),
                 "graphs of the training split that are used, the first ones; 0: all");
  fields.integer("data.evaluated_graphs", options.evaluated_graphs, IntegerRange::from(0),
                 "the same of the validation and of the test split");
  fields.integer("data.evaluation_batch", options.evaluation_batch, IntegerRange::from(1),
                 "graphs evaluated at a time");
}

data::GraphSet load(const GraphOptions& options, const data::Progress& progress = {}) {
  using models::GraphEncoding;
  constexpr double kLoading = 0.3;  // of the time that it all takes, about
  const auto part = [&](double from, double to) -> data::Progress {
    if (!progress) return {};
    return [=](double done) { progress(from + (to - from) * done); };
  };
  const auto terms_of = [&](GraphEncoding encoding) {
    return options.model.encoding() == encoding ? options.model.encoding_terms() : 0;
  };
  return data::with_cached_encodings(
      data::load_graphs(options.source, part(0.0, kLoading)),
      {.laplacian_terms = terms_of(GraphEncoding::laplacian), .walk_steps = terms_of(GraphEncoding::random_walk)},
      part(kLoading, 1.0));
}

// As the reference code has it, one logit tells two classes of nodes apart, and where nodes are to be told apart, their
// own type is a one-hot vector before a linear layer.
models::GraphGpsOptions completed(models::GraphGpsOptions options, const data::GraphSet& set) {
  const auto& schema = set.schema();
  const bool tells_nodes = schema.task == data::GraphTask::node_classes;
  const bool is_one_hot = tells_nodes && schema.node_categories.size() == 1;
  options.outputs(tells_nodes && schema.outputs == 2 ? 1 : schema.outputs)
      .edge_categories(schema.edge_categories)
      .edge_values(set.edge_values());
  if (is_one_hot) return options.node_values(schema.node_categories.front());
  return options.node_categories(schema.node_categories).node_values(set.node_values());
}

at::Tensor rows_of_types(const at::Tensor& ids, std::int64_t categories) {
  return at::zeros({ids.size(0), categories}, ids.options().dtype(at::kFloat)).scatter_(1, ids, 1.0);
}

std::string_view text_of(data::GraphTask task) {
  switch (task) {
    case data::GraphTask::node_classes:
      return "classes of nodes";
    case data::GraphTask::graph_classes:
      return "classes of graphs";
    case data::GraphTask::graph_targets:
      return "targets of graphs";
    case data::GraphTask::pairs:
      return "pairs of nodes";
  }
  return "";
}

void check(const GraphOptions& options, const data::GraphSchema& schema) {
  const auto& objective = objective_of(options.metric);
  if (objective.task != schema.task) {
    std::string fitting;
    for (const auto& other : objectives()) {
      if (other.task != schema.task) continue;
      fitting += (fitting.empty() ? "\"" : " or \"") + std::string(other.metric) + "\"";
    }
    throw recipe::RecipeError("data.metric = \"" + options.metric + "\" is for " +
                              std::string(text_of(objective.task)) + ", and " + schema.name + " has " +
                              std::string(text_of(schema.task)) + "; set data.metric = " + fitting);
  }
  const bool predicts_graphs =
      schema.task == data::GraphTask::graph_classes || schema.task == data::GraphTask::graph_targets;
  const bool pools = options.model.pooling() != models::GraphPooling::none;
  if (predicts_graphs != pools) {
    throw recipe::RecipeError(schema.name + " has " + std::string(text_of(schema.task)) +
                              "; set model.pooling = " + (predicts_graphs ? "\"mean\" or \"sum\"" : "\"none\""));
  }
  const bool scores_pairs = options.model.head() == models::GraphHead::pairs;
  if (scores_pairs != (schema.task == data::GraphTask::pairs)) {
    throw recipe::RecipeError(schema.name + " has " + std::string(text_of(schema.task)) +
                              "; set model.head = " + (scores_pairs ? "\"mlp\" or \"halving\"" : "\"pairs\""));
  }
}

models::GraphBatch inputs_of(const data::Batch& batch, const models::GraphGpsOptions& model) {
  models::GraphBatch inputs = {.offsets = batch["offsets"],
                               .graph = batch["graph"],
                               .edges = {.source = batch["source"],
                                         .target = batch["target"],
                                         .edge_offsets = batch["edge_offsets"],
                                         .by_source = batch["by_source"],
                                         .source_offsets = batch["source_offsets"]},
                               .node_ids = batch.get("node_ids"),
                               .node_values = batch.get("node_values"),
                               .edge_ids = batch.get("edge_ids"),
                               .edge_values = batch.get("edge_values"),
                               .lap_vectors = batch.get("lap_vectors"),
                               .lap_values = batch.get("lap_values"),
                               .rwse = batch.get("rwse")};
  const bool is_one_hot = model.node_values() > 0 && !inputs.node_values.defined();
  if (is_one_hot) inputs.node_values = rows_of_types(inputs.node_ids, model.node_values());
  return inputs;
}

class GpsTask final : public GraphTask {
 public:
  GpsTask(const GraphOptions& options, data::GraphSet set, at::Device device)
      : options_(options),
        objective_(objective_of(options.metric)),
        set_(std::move(set)),
        train_(used("train")),
        model_(completed(options.model, set_)) {
    model_->to(device);
  }

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return train_.size(); }
  [[nodiscard]] std::vector<std::string> splits() const override { return {"validation", "test"}; }
  [[nodiscard]] train::Selection selection() const override {
    return {.metric = std::string(objective_.metric), .higher_is_better = objective_.higher_is_better};
  }
  [[nodiscard]] const data::GraphSet& set() const override { return set_; }

  [[nodiscard]] data::GraphRange used(const std::string& split) const override {
    auto range = set_.split(split);
    const auto most = split == "train" ? options_.train_graphs : options_.evaluated_graphs;
    if (most > 0) range.last = std::min(range.last, range.first + most);
    return range;
  }

  // Of a graph of the mean size.
  [[nodiscard]] double forward_flops() const override {
    const auto* nodes = set_.tensors().offsets.const_data_ptr<std::int64_t>();
    const auto* edges = set_.tensors().in_edges.const_data_ptr<std::int64_t>();
    const auto graphs = static_cast<double>(std::max<std::int64_t>(train_.size(), 1));
    const auto mean = [&](std::int64_t first, std::int64_t last) { return static_cast<double>(last - first) / graphs; };
    return model_->forward_flops(mean(nodes[train_.first], nodes[train_.last]),
                                 mean(edges[nodes[train_.first]], edges[nodes[train_.last]]));
  }

  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    auto graphs = draw.samples;
    for (auto& graph : graphs) graph += train_.first;
    if (objective_.task != data::GraphTask::pairs) return set_.batch(graphs);
    return set_.batch(graphs, {.each = kNegativesPerPair, .random = [&draw](std::size_t i) { return draw.random(i); }});
  }

  at::Tensor outputs(const data::Batch& batch) override { return model_(inputs_of(batch, model_->options)); }

  train::Losses loss(const data::Batch& batch, const train::Moment& /*moment*/) override {
    return {.total = objective_.loss(outputs(batch), batch), .weight = weight(batch)};
  }

  void evaluate(const train::Split& split, metrics::Metrics& metrics) override {
    const auto range = used(split.name);
    const auto end = range.first + split.end(range.size());
    auto& loss = metrics.get<metrics::Mean>("loss");
    for (auto first = range.first + split.begin(range.size()); first < end; first += options_.evaluation_batch) {
      const data::GraphRange graphs{.first = first, .last = std::min(first + options_.evaluation_batch, end)};
      const auto batch = set_.batch(graphs).to(model_->parameters().front().device());
      const auto predictions = outputs(batch).to(at::kFloat);
      const double count = weight(batch).value_or(static_cast<double>(batch.samples()));
      loss.add(count * objective_.loss(predictions, batch).item<double>(), count);
      objective_.measure(predictions, batch, metrics);
    }
  }

 private:
  // Of what the loss is a mean.
  [[nodiscard]] std::optional<double> weight(const data::Batch& batch) const {
    if (objective_.task == data::GraphTask::pairs) return static_cast<double>(batch["pair_label"].size(0));
    if (objective_.task == data::GraphTask::node_classes) return static_cast<double>(batch["y"].size(0));
    return std::nullopt;
  }

  GraphOptions options_;
  const Objective& objective_;
  data::GraphSet set_;
  data::GraphRange train_;
  models::GraphGps model_;
};

class GraphTaskFactory final : public domains::TaskFactory {
 public:
  void describe(recipe::Fields& fields) override {
    models::describe(fields, options_.model);
    describe_data(fields, options_);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> data_settings(const std::string& text) const override {
    return {{data::is_folder_name(text) ? "data.folder" : "data.name", text}};
  }

  // Generates, converts and encodes what is not in the cache.
  void fetch_data(const domains::Fetching& fetching) const override {
    if (missing_data().empty()) static_cast<void>(load(source(), fetching.progress));
  }

  [[nodiscard]] std::string missing_data() const override { return data::missing_graphs_text(options_.source); }

  [[nodiscard]] std::unique_ptr<train::Task> make(const train::Recipe& /*recipe*/, at::Device device) const override {
    auto set = load(source());
    check(options_, set.schema());
    return std::make_unique<GpsTask>(options_, std::move(set), device);
  }

 private:
  [[nodiscard]] GraphOptions source() const {
    auto options = options_;
    options.source.train = options.train_graphs;
    options.source.evaluated = options.evaluated_graphs;
    return options;
  }

  GraphOptions options_;
};

}  // namespace

std::unique_ptr<domains::TaskFactory> graph_task_factory() { return std::make_unique<GraphTaskFactory>(); }

}  // namespace quest::graphs
