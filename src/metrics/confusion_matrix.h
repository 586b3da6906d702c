#pragma once

// How often each class was taken for each: what F1 and IoU are computed from.

#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/metric.h"

namespace quest::metrics {

class ConfusionMatrix : public Metric {
 public:
  // Where the label is `ignored` nothing is counted; it may be one of the classes, which then has no number.
  explicit ConfusionMatrix(std::int64_t classes, std::optional<std::int64_t> ignored = std::nullopt);

  // Classes as whole numbers, of one shape. Throws std::invalid_argument for other shapes, and for what is no class.
  void add(const at::Tensor& predicted, const at::Tensor& labels);

  [[nodiscard]] at::Tensor state() const override { return counts_.clone(); }
  void set_state(const at::Tensor& state) override { counts_ = state.clone(); }
  // The mean over the classes that were predicted or are labels.
  [[nodiscard]] double value() const override;
  // None for a class that is neither.
  [[nodiscard]] std::vector<std::optional<double>> per_class() const;

 protected:
  struct Counts {
    double hits;
    double predicted;
    double labels;
  };
  [[nodiscard]] virtual double score(const Counts& counts) const = 0;

 private:
  void check(const at::Tensor& classes, const char* what) const;

  std::int64_t classes_;
  std::optional<std::int64_t> ignored_;
  at::Tensor counts_;  // [label, predicted]
};

}  // namespace quest::metrics
