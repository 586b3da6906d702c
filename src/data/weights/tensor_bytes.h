#pragma once

// Tensors as the bytes of a file.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "data/formats/element_type.h"

namespace quest::data {

at::ScalarType scalar_type(ElementType type);
std::optional<ElementType> element_type(at::ScalarType type);

// Of a contiguous tensor on the CPU.
std::span<std::byte> bytes_of(const at::Tensor& tensor);

// Bytes other than 0 and 1 in a bool are undefined behaviour for whoever uses it: a FormatError.
void check_bools(const std::string& name, const at::Tensor& tensor);

}  // namespace quest::data
