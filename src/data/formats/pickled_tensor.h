#pragma once

// Tensors of torch and arrays of numpy among the values of a pickle. Needs no torch.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/element_type.h"
#include "data/formats/pickle.h"

namespace quest::data {

// A strided view, in elements, of a storage: one of those beside the pickle, or one inside it.
struct PickledTensor {
  std::string storage;
  ElementType type = ElementType::float32;
  std::int64_t storage_size = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::optional<std::string_view> content;  // the bytes of a storage inside the pickle

  [[nodiscard]] std::int64_t elements() const;
};

// The names that tensors in torch's own files consist of; those of tensors and arrays in any pickle.
[[nodiscard]] bool is_name_of_torch_tensor(std::string_view name);
[[nodiscard]] bool is_name_of_array(std::string_view name);

// None for a value that is neither tensor nor array. Throws FormatError where it is one that is not as it should be: a
// tensor lies within its storage.
[[nodiscard]] std::optional<PickledTensor> tensor_at(const Pickle& pickle, const PickledValue& value);

}  // namespace quest::data
