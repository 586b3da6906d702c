#pragma once

// Reads the pickle inside a file of torch.save without executing it. Needs no torch.
//
// A pickle is a program that can call any Python function. Here nothing is called: only the few names that a state dict
// consists of are known, and any other refuses the whole file. LibTorch's own unpickler turns an OrderedDict, which
// every state_dict() is, into None.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/element_type.h"

namespace quest::data {

// A strided view, in elements, of one of the storages beside the pickle.
struct PickledTensor {
  std::string storage;
  ElementType type = ElementType::float32;
  std::int64_t storage_size = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

// The tensors of a state dict, which may be wrapped in dicts under "model" or "state_dict"; every one lies within its
// storage. Throws FormatError.
std::vector<std::pair<std::string, PickledTensor>> parse_pickled_state(std::string_view pickle);

}  // namespace quest::data
