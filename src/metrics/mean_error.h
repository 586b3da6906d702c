#pragma once

#include "metrics/mean.h"

namespace quest::metrics {

// The mean absolute or squared error over all numbers. A target that is NaN is not known and does not count; a
// prediction that is NaN makes the error NaN.
class MeanError final : public Mean {
 public:
  enum class Kind { absolute, squared };

  explicit MeanError(Kind kind) : kind_(kind) {}

  // Of one shape; throws std::invalid_argument for others.
  void add(const at::Tensor& predictions, const at::Tensor& targets);

 private:
  Kind kind_;
};

}  // namespace quest::metrics
