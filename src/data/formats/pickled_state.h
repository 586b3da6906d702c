#pragma once

// The tensors of a state dict in the pickle inside a file of torch.save. Needs no torch. LibTorch's own unpickler turns
// an OrderedDict, which every state_dict() is, into None.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/pickled_tensor.h"

namespace quest::data {

// The dict may be wrapped in dicts under "model" or "state_dict"; every tensor lies within its storage. Throws
// FormatError.
std::vector<std::pair<std::string, PickledTensor>> parse_pickled_state(std::string_view pickle);

}  // namespace quest::data
