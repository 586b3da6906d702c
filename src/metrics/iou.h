#pragma once

#include "metrics/confusion_matrix.h"

namespace quest::metrics {

// Mean intersection over union: of a class hits / (predicted + labels - hits).
class Iou final : public ConfusionMatrix {
 public:
  using ConfusionMatrix::ConfusionMatrix;

 protected:
  [[nodiscard]] double score(const Counts& counts) const override {
    return counts.hits / (counts.predicted + counts.labels - counts.hits);
  }
};

}  // namespace quest::metrics
