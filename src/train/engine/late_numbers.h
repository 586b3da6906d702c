#pragma once

// Numbers that a GPU computes and nobody waits for: they travel to the host behind the work that makes them, and are
// read when more work has been given to the GPU.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>
#include <vector>

namespace quest::train {

class LateNumbers {
 public:
  // One tensor of any device; it may be overwritten afterwards.
  explicit LateNumbers(const at::Tensor& numbers);

  [[nodiscard]] std::vector<double> read() const;

 private:
  at::Tensor host_;
  std::optional<c10::Event> arrived_;
};

}  // namespace quest::train
