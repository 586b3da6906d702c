#pragma once

#include "metrics/confusion_matrix.h"

namespace quest::metrics {

// Macro recall: of a class hits / labels, 0 where it was predicted and is no sample's label. Over all nodes of a split
// it is the accuracy weighted by class that the graph benchmarks report for PATTERN and CLUSTER.
class Recall final : public ConfusionMatrix {
 public:
  using ConfusionMatrix::ConfusionMatrix;

 protected:
  [[nodiscard]] double score(const Counts& counts) const override {
    return counts.labels > 0.0 ? counts.hits / counts.labels : 0.0;
  }
};

}  // namespace quest::metrics
