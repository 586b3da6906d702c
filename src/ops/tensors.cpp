#include "ops/tensors.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>

namespace quest::ops {
namespace {

constexpr std::size_t kMaxRank = 8;

std::int32_t shim_type(ScalarType type) {
  return torch::stable::detail::to<std::int32_t>(torch::stable::detail::from(type));
}

Tensor new_strided(Sizes sizes, Sizes strides, ScalarType type, const Tensor& like) {
  std::int32_t device_type = 0;
  std::int32_t device_index = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device_type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(like.get(), &device_index));
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(),
                                                  shim_type(type), device_type, device_index, &handle));
  return Tensor(handle);
}

// Whether rows that are whole words of 16 bytes begin at multiples of 16 bytes.
bool lies_at_whole_words(const Tensor& tensor) {
  const std::int64_t word = tensor.scalar_type() == ScalarType::Float ? 4 : 8;
  if (sizes_of(tensor).back() % word != 0) return true;
  const Sizes strides = strides_of(tensor);
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 == 0 &&
         std::ranges::all_of(strides.first(strides.size() - 1),
                             [&](std::int64_t stride) { return stride % word == 0; });
}

}  // namespace

TensorInfo info_of(const Tensor& tensor) {
  const torch::stable::Device device = tensor.device();
  return {.sizes = sizes_of(tensor),
          .type = tensor.scalar_type(),
          .device = device.type(),
          .device_index = static_cast<int>(device.index())};
}

std::optional<TensorInfo> info_of(const OptionalTensor& tensor) {
  return tensor ? std::optional(info_of(*tensor)) : std::nullopt;
}

Sizes sizes_of(const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  return {sizes.data(), sizes.size()};
}

Sizes strides_of(const Tensor& tensor) {
  const auto strides = tensor.strides();
  return {strides.data(), strides.size()};
}

Tensor new_tensor(Sizes sizes, ScalarType type, const Tensor& like) {
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
  return new_strided(sizes, strides, type, like);
}

Tensor new_in_order_of(const Tensor& input, Sizes sizes) {
  const Sizes order = strides_of(input);
  if (input.device().type() != DeviceType::CPU || order[1] >= order[2]) {
    return new_tensor(sizes, input.scalar_type(), input);
  }
  const std::int64_t row = sizes[1] * sizes[3];
  const std::array strides = {sizes[2] * row, sizes[3], row, std::int64_t{1}};
  return new_strided(sizes, strides, input.scalar_type(), input);
}

Tensor new_floats(std::int64_t count, const Tensor& like) {
  return new_tensor(std::array{count}, ScalarType::Float, like);
}

float* floats(const Tensor& tensor) { return static_cast<float*>(tensor.mutable_data_ptr()); }

const float* const_floats(const Tensor& tensor) { return static_cast<const float*>(tensor.const_data_ptr()); }

Tensor with_dense_rows(const Tensor& tensor) {
  const Sizes sizes = sizes_of(tensor);
  const bool dense = sizes.back() == 1 || strides_of(tensor).back() == 1;
  if (dense && (tensor.is_cpu() || lies_at_whole_words(tensor))) return tensor;
  Tensor copy = new_tensor(sizes, tensor.scalar_type(), tensor);
  return torch::stable::copy_(copy, tensor);
}

}  // namespace quest::ops
