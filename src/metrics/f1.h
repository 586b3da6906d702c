#pragma once

#include "metrics/confusion_matrix.h"

namespace quest::metrics {

// Macro F1: of a class 2·hits / (predicted + labels), the harmonic mean of precision and recall.
class F1 final : public ConfusionMatrix {
 public:
  using ConfusionMatrix::ConfusionMatrix;

 protected:
  [[nodiscard]] double score(const Counts& counts) const override {
    return 2.0 * counts.hits / (counts.predicted + counts.labels);
  }
};

}  // namespace quest::metrics
