#pragma once

// What one forward and backward pass reads: tensors by name, the first dimension counting what the task batches.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quest::data {

class Batch {
 public:
  Batch() = default;
  Batch(std::int64_t samples, std::vector<std::pair<std::string, at::Tensor>> tensors)
      : samples_(samples), tensors_(std::move(tensors)) {}

  [[nodiscard]] std::int64_t samples() const { return samples_; }
  // Throws std::out_of_range that names what there is.
  [[nodiscard]] const at::Tensor& operator[](std::string_view name) const;
  // Undefined where there is none.
  [[nodiscard]] at::Tensor get(std::string_view name) const;

  // In memory that a GPU copies from without waiting.
  [[nodiscard]] Batch pinned() const;
  // From pinned memory the copy goes on behind what is called next.
  [[nodiscard]] Batch to(at::Device device) const;

 private:
  std::int64_t samples_ = 0;
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

}  // namespace quest::data
