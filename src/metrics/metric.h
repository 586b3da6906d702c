#pragma once

// A number over predictions: takes them batch by batch, joins with the same metric of other processes, gives a value.

#include <ATen/core/Tensor.h>

namespace quest::metrics {

class Metric {
 public:
  enum class Join {
    sums,  // states of processes are added
    rows,  // the first dimension of one is followed by that of the next
  };

  Metric() = default;
  virtual ~Metric() = default;
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  // On the host, float64.
  [[nodiscard]] virtual at::Tensor state() const = 0;
  virtual void set_state(const at::Tensor& state) = 0;
  [[nodiscard]] virtual Join join() const { return Join::sums; }
  // NaN before the first prediction.
  [[nodiscard]] virtual double value() const = 0;
};

}  // namespace quest::metrics
