#pragma once

// A mean as its two parts.

#include <ATen/ops/tensor.h>

#include "metrics/metric.h"

namespace quest::metrics {

class Mean : public Metric {
 public:
  void add(double sum, double count) {
    sum_ += sum;
    count_ += count;
  }

  [[nodiscard]] at::Tensor state() const override { return at::tensor({sum_, count_}, at::kDouble); }
  void set_state(const at::Tensor& state) override {
    sum_ = state[0].item<double>();
    count_ = state[1].item<double>();
  }
  [[nodiscard]] double value() const override { return sum_ / count_; }

 private:
  double sum_ = 0.0;
  double count_ = 0.0;
};

}  // namespace quest::metrics
