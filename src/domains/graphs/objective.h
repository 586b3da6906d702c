#pragma once

// What each benchmark of graphs minimises and is judged by.

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <string_view>

#include "data/batch.h"
#include "data/graph.h"
#include "metrics/metrics.h"

namespace quest::graphs {

struct Objective {
  std::string_view metric;
  data::GraphTask task;  // the sets it fits
  bool higher_is_better;
  at::Tensor (*loss)(const at::Tensor& outputs, const data::Batch& batch);
  // Adds a batch's predictions to the metric.
  void (*measure)(const at::Tensor& outputs, const data::Batch& batch, metrics::Metrics& metrics);
};

[[nodiscard]] std::span<const Objective> objectives();
// Throws std::logic_error for a metric that is none of theirs.
[[nodiscard]] const Objective& objective_of(std::string_view metric);

// The class of each row of logits; one logit stands for two classes.
[[nodiscard]] at::Tensor predicted_classes(const at::Tensor& logits);

}  // namespace quest::graphs
