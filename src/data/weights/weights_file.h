#pragma once

#include <filesystem>

#include "data/weights/safetensors.h"

namespace quest::data {

// Weights of a model: safetensors or a state dict of torch.save, told apart by content, whatever the file is called.
TensorFile load_weights(const std::filesystem::path& path);

}  // namespace quest::data
