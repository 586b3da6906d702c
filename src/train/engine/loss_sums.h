#pragma once

// The losses of a step's passes added up.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "train/engine/task.h"

namespace quest::train {

class LossSums {
 public:
  // `share`: the pass's part of the step. Throws std::logic_error that names both where a pass has other parts than the
  // first.
  void add(const Losses& losses, double share);

  // Of the parts.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // The total, and behind it the parts.
  [[nodiscard]] const std::vector<at::Tensor>& tensors() const { return sums_; }

 private:
  std::vector<std::string> names_;
  std::vector<at::Tensor> sums_;
};

}  // namespace quest::train
