#pragma once

#include <filesystem>

#include "data/weights/safetensors.h"

namespace quest::data {

// A state dict that torch.save wrote, directly or under "model" or "state_dict". Nothing in the file is executed; what
// is not a tensor is left out. The format of torch before 1.6 is refused: scripts/convert_weights.py reads it.
TensorFile load_pth(const std::filesystem::path& path);

}  // namespace quest::data
