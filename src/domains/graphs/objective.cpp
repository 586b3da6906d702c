#include "domains/graphs/objective.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "metrics/accuracy.h"
#include "metrics/average_precision.h"
#include "metrics/f1.h"
#include "metrics/mean_error.h"
#include "metrics/pair_mrr.h"
#include "metrics/recall.h"
#include "quest/models/graph_losses.h"

namespace quest::graphs {
namespace {

using data::Batch;
using data::GraphTask;
using metrics::Metrics;

constexpr std::string_view kAccuracy = "accuracy";
constexpr std::string_view kClassAccuracy = "class_accuracy";
constexpr std::string_view kF1 = "f1";
constexpr std::string_view kAveragePrecision = "average_precision";
constexpr std::string_view kAbsoluteError = "absolute_error";
constexpr std::string_view kMrr = "mrr";

template <at::Tensor (*loss)(const at::Tensor&, const at::Tensor&)>
at::Tensor loss_of_labels(const at::Tensor& outputs, const Batch& batch) {
  return loss(outputs, batch["y"]);
}

at::Tensor loss_of_pairs(const at::Tensor& nodes, const Batch& batch) {
  return models::pair_cross_entropy(nodes, batch["pair_source"], batch["pair_target"], batch["pair_label"]);
}

template <typename Kind, const std::string_view& name>
void measure_classes(const at::Tensor& logits, const Batch& batch, Metrics& metrics) {
  const auto classes = std::max<std::int64_t>(logits.size(1), 2);
  metrics.get<Kind>(std::string(name), classes).add(predicted_classes(logits).cpu(), batch["y"].cpu());
}

void measure_accuracy(const at::Tensor& logits, const Batch& batch, Metrics& metrics) {
  metrics.get<metrics::Accuracy>(std::string(kAccuracy)).add(logits, batch["y"]);
}

void measure_precision(const at::Tensor& scores, const Batch& batch, Metrics& metrics) {
  metrics.get<metrics::AveragePrecision>(std::string(kAveragePrecision), scores.size(1))
      .add(scores.cpu(), batch["y"].cpu());
}

void measure_error(const at::Tensor& outputs, const Batch& batch, Metrics& metrics) {
  metrics.get<metrics::MeanError>(std::string(kAbsoluteError), metrics::MeanError::Kind::absolute)
      .add(outputs.cpu(), batch["y"].cpu());
}

// Of the pairs that belong together; batches count by all their labelled pairs.
void measure_pairs(const at::Tensor& nodes, const Batch& batch, Metrics& metrics) {
  const auto together = batch["pair_label"].nonzero().squeeze(1);
  metrics.get<metrics::PairMrr>(std::string(kMrr))
      .add(nodes, batch["offsets"], batch["pair_source"].index_select(0, together),
           batch["pair_target"].index_select(0, together), static_cast<double>(batch["pair_label"].size(0)));
}

constexpr std::array<Objective, 6> kObjectives = {{
    {kAccuracy, GraphTask::graph_classes, true, loss_of_labels<models::graph_cross_entropy>, measure_accuracy},
    {kClassAccuracy, GraphTask::node_classes, true, loss_of_labels<models::balanced_cross_entropy>,
     measure_classes<metrics::Recall, kClassAccuracy>},
    {kF1, GraphTask::node_classes, true, loss_of_labels<models::balanced_cross_entropy>,
     measure_classes<metrics::F1, kF1>},
    {kAveragePrecision, GraphTask::graph_targets, true, loss_of_labels<models::graph_binary_cross_entropy>,
     measure_precision},
    {kAbsoluteError, GraphTask::graph_targets, false, loss_of_labels<models::graph_absolute_error>, measure_error},
    {kMrr, GraphTask::pairs, true, loss_of_pairs, measure_pairs},
}};

}  // namespace

std::span<const Objective> objectives() { return kObjectives; }

const Objective& objective_of(std::string_view metric) {
  const auto* const found = std::ranges::find(kObjectives, metric, &Objective::metric);
  if (found == kObjectives.end()) throw std::logic_error("no objective is called \"" + std::string(metric) + "\"");
  return *found;
}

at::Tensor predicted_classes(const at::Tensor& logits) {
  return logits.size(1) == 1 ? logits.squeeze(1).gt(0).to(at::kLong) : logits.argmax(1);
}

}  // namespace quest::graphs
