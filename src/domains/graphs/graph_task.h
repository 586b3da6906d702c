#pragma once

// GraphGPS on the benchmarks of graphs.

#include <memory>

#include "data/graph_set.h"
#include "domains/domain.h"
#include "quest/models/graph_gps.h"

namespace quest::graphs {

class GraphTask : public train::Task {
 public:
  [[nodiscard]] virtual const data::GraphSet& set() const = 0;
  // The graphs of a split that are used: "train" or one of splits().
  [[nodiscard]] virtual data::GraphRange used(const std::string& split) const = 0;
  // Of a batch on any device.
  [[nodiscard]] virtual at::Tensor outputs(const data::Batch& batch) = 0;
};

[[nodiscard]] std::unique_ptr<domains::TaskFactory> graph_task_factory();

}  // namespace quest::graphs
