#pragma once

#include "metrics/mean.h"

namespace quest::metrics {

// The share of samples whose label has one of the k largest logits; of equal logits the first ones count. A sample with
// a NaN among its logits is not among them.
class Accuracy final : public Mean {
 public:
  explicit Accuracy(std::int64_t top = 1) : top_(top) {}

  // [samples, classes] and [samples].
  void add(const at::Tensor& logits, const at::Tensor& labels);

 private:
  std::int64_t top_;
};

}  // namespace quest::metrics
