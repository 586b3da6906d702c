#include "train/engine/evaluate.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "train/engine/evaluation_mode.h"

namespace quest::train {
namespace {

// The rows of all processes, in the order of their ranks.
at::Tensor gathered_rows(const at::Tensor& rows, Communicator& processes) {
  auto counts = at::zeros({processes.size()}, at::kLong);
  counts[processes.rank()] = rows.size(0);
  processes.all_reduce_sum(counts);
  auto shape = rows.sizes().vec();
  shape[0] = counts.sum().item<std::int64_t>();
  auto all = at::zeros(shape, rows.options());
  const auto first = counts.narrow(0, 0, processes.rank()).sum().item<std::int64_t>();
  all.narrow(0, first, rows.size(0)).copy_(rows);
  processes.all_reduce_sum(all);
  return all;
}

}  // namespace

void reduce(const metrics::Metrics& metrics, Communicator& processes) {
  if (processes.size() == 1) return;
  for (const auto& entry : metrics.entries()) {
    auto state = entry.metric->state().contiguous();
    if (entry.metric->join() == metrics::Metric::Join::rows) {
      state = gathered_rows(state, processes);
    } else {
      processes.all_reduce_sum(state);
    }
    entry.metric->set_state(state);
  }
}

metrics::Values evaluate(Task& task, const Recipe& recipe, Communicator& processes) {
  const EvaluationMode mode(task, recipe);
  metrics::Values values;
  const auto splits = task.splits();
  for (const auto& split : splits) {
    metrics::Metrics metrics;
    task.evaluate({.name = split, .index = processes.rank(), .count = processes.size()}, metrics);
    reduce(metrics, processes);
    const std::string prefix = split == splits.front() ? "" : split + "_";
    for (const auto& [name, value] : metrics.values()) values[prefix + name] = value;
  }
  return values;
}

metrics::Values under_all_names(const metrics::Values& values, const std::vector<std::string>& splits) {
  auto all = values;
  for (const auto& [name, value] : values) {
    const bool is_of_first = std::none_of(splits.begin() + 1, splits.end(),
                                          [&](const auto& split) { return name.starts_with(split + "_"); });
    if (is_of_first) all[splits.front() + "_" + name] = value;
  }
  return all;
}

}  // namespace quest::train
