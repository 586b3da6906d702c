#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/metric.h"

namespace quest::metrics {

// Average precision of several labels at once: the precision at every threshold, weighted by the recall it adds;
// samples of equal score are above a threshold together. The value is the mean over the labels that any sample has.
class AveragePrecision final : public Metric {
 public:
  explicit AveragePrecision(std::int64_t labels) : labels_(labels) {}

  // [samples, labels] both; a target is 1, 0, or NaN where it is not known, and then does not count. A score that
  // counts and is NaN makes the label's value NaN. Throws std::invalid_argument for other shapes and targets.
  void add(const at::Tensor& scores, const at::Tensor& targets);

  [[nodiscard]] at::Tensor state() const override;
  void set_state(const at::Tensor& state) override { rows_ = {state.clone()}; }
  [[nodiscard]] Join join() const override { return Join::rows; }
  [[nodiscard]] double value() const override;
  // None for a label that no sample has.
  [[nodiscard]] std::vector<std::optional<double>> per_label() const;

 private:
  std::int64_t labels_;
  std::vector<at::Tensor> rows_;  // [samples, 2·labels] each: scores, targets
};

}  // namespace quest::metrics
