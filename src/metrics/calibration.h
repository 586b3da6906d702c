#pragma once

// How far a classifier's confidence, the largest probability of its softmax, is from how often it is right: samples are
// put into bins of equal width by their confidence. A sample whose confidence is NaN makes every number of it NaN.

#include <cstdint>
#include <vector>

#include "metrics/metric.h"

namespace quest::metrics {

class Calibration final : public Metric {
 public:
  struct Bin {
    double samples = 0.0;
    double confidence = 0.0;  // mean; 0 for an empty bin
    double accuracy = 0.0;
  };

  explicit Calibration(std::int64_t bins);

  // [samples, classes] and [samples].
  void add(const at::Tensor& logits, const at::Tensor& labels);

  [[nodiscard]] at::Tensor state() const override { return sums_.clone(); }
  void set_state(const at::Tensor& state) override { sums_ = state.clone(); }
  // The expected calibration error: |accuracy - confidence| of the bins, weighted by their samples.
  [[nodiscard]] double value() const override;
  [[nodiscard]] double largest_error() const;  // of a bin
  [[nodiscard]] Bin all() const;               // as if there were one bin
  [[nodiscard]] std::vector<Bin> bins() const;

 private:
  at::Tensor sums_;  // [3, bins]: samples, confidences, hits
};

}  // namespace quest::metrics
