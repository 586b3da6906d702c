#pragma once

// Tensors by name in a file that every safetensors library reads.

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quest::data {

struct TensorFile {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::map<std::string, std::string> metadata;
};

// Tensors on the CPU, in the order of their bytes. Whatever the file holds, no more memory is taken than it is long;
// what is wrong with it comes as a FormatError.
TensorFile load_safetensors(const std::filesystem::path& path);

// Wider elements first, otherwise in the given order; from any device. Whole or not at all, as write_atomically says.
void save_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace quest::data
