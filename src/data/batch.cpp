#include "data/batch.h"

#include <algorithm>
#include <stdexcept>

namespace quest::data {
namespace {

template <typename Change>
std::vector<std::pair<std::string, at::Tensor>> changed(const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                                                        const Change& change) {
  std::vector<std::pair<std::string, at::Tensor>> result;
  for (const auto& [name, tensor] : tensors) result.emplace_back(name, change(tensor));
  return result;
}

}  // namespace

at::Tensor Batch::get(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, [](const auto& entry) { return std::string_view(entry.first); });
  return found == tensors_.end() ? at::Tensor() : found->second;
}

const at::Tensor& Batch::operator[](std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, [](const auto& entry) { return std::string_view(entry.first); });
  if (found != tensors_.end()) return found->second;
  std::string known;
  for (const auto& entry : tensors_) known += (known.empty() ? "" : ", ") + entry.first;
  throw std::out_of_range("the batch has no tensor \"" + std::string(name) + "\"; it has " +
                          (known.empty() ? "none" : known));
}

Batch Batch::pinned() const {
  return {samples_, changed(tensors_, [](const at::Tensor& tensor) { return tensor.pin_memory(); })};
}

Batch Batch::to(at::Device device) const {
  return {samples_,
          changed(tensors_, [&](const at::Tensor& tensor) { return tensor.to(device, /*non_blocking=*/true); })};
}

}  // namespace quest::data
