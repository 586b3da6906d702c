#pragma once

// The few things the operators do with tensors, straight through the C shim: no dispatcher, no string.

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <span>

#include "ops/check.h"

namespace quest::ops {

using torch::stable::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Sizes = std::span<const std::int64_t>;

[[nodiscard]] TensorInfo info_of(const Tensor& tensor);
[[nodiscard]] std::optional<TensorInfo> info_of(const OptionalTensor& tensor);

[[nodiscard]] Sizes sizes_of(const Tensor& tensor);
[[nodiscard]] Sizes strides_of(const Tensor& tensor);

// Contiguous and uninitialised, on the device of `like`.
[[nodiscard]] Tensor new_tensor(Sizes sizes, ScalarType type, const Tensor& like);

// [batch, heads, rows, dim] in the type of `input`. On the CPU, where the heads of `input` lie within its rows, as a
// projection leaves them, they do so here: what follows then needs no copy.
[[nodiscard]] Tensor new_in_order_of(const Tensor& input, Sizes sizes);

[[nodiscard]] Tensor new_floats(std::int64_t count, const Tensor& like);
[[nodiscard]] float* floats(const Tensor& tensor);
[[nodiscard]] const float* const_floats(const Tensor& tensor);

// The same tensor where its last dimension is dense already and, on a GPU, rows that are whole words of 16 bytes begin
// at multiples of them; else a copy.
[[nodiscard]] Tensor with_dense_rows(const Tensor& tensor);

}  // namespace quest::ops
