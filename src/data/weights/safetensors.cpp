#include "data/weights/safetensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>

#include "base/atomic_file.h"
#include "data/formats/format_error.h"
#include "data/formats/input_file.h"
#include "data/formats/safetensors_index.h"
#include "data/weights/tensor_bytes.h"

namespace quest::data {
namespace {

ElementType storable_type(const std::string& name, const at::Tensor& tensor) {
  const auto type = element_type(tensor.scalar_type());
  if (!type || tensor.layout() != at::kStrided) {
    throw std::invalid_argument("tensor " + in_quotes(name) +
                                ": expected a dense tensor of bool, integers or floats, got " + tensor.toString() +
                                "; convert it first");
  }
  return *type;
}

at::Tensor read_tensor(const InputFile& file, std::uint64_t data_begin, const SafetensorsEntry& entry) {
  at::Tensor tensor = at::empty(entry.shape, scalar_type(entry.type));
  file.read_at(data_begin + entry.begin, bytes_of(tensor));
  check_bools(entry.name, tensor);
  return tensor;
}

}  // namespace

TensorFile load_safetensors(const std::filesystem::path& path) {
  return naming_file(path, [&path] {
    const InputFile file(path);
    std::array<std::byte, kSafetensorsPrefix> prefix{};
    file.read_at(0, std::span(prefix).first(std::min<std::uint64_t>(prefix.size(), file.size())));
    std::string header(safetensors_header_length(prefix, file.size()), '\0');
    file.read_at(kSafetensorsPrefix, std::as_writable_bytes(std::span(header)));
    const std::uint64_t data_begin = kSafetensorsPrefix + header.size();
    SafetensorsIndex index = parse_safetensors_header(header, file.size() - data_begin);
    TensorFile result{.metadata = std::move(index.metadata)};
    result.tensors.reserve(index.entries.size());
    for (const SafetensorsEntry& entry : index.entries) {
      result.tensors.emplace_back(entry.name, read_tensor(file, data_begin, entry));
    }
    return result;
  });
}

void save_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  auto tensors = file.tensors;
  std::ranges::stable_sort(tensors, std::greater(), [](const auto& named) { return named.second.element_size(); });
  SafetensorsIndex index{.metadata = file.metadata};
  std::uint64_t position = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t end = position + static_cast<std::uint64_t>(tensor.numel()) * tensor.element_size();
    index.entries.push_back({.name = name,
                             .type = storable_type(name, tensor),
                             .shape = tensor.sizes().vec(),
                             .begin = position,
                             .end = end});
    position = end;
  }
  const std::string start = safetensors_start(index);
  base::write_atomically(path, [&](const base::ByteSink& sink) {
    sink(std::as_bytes(std::span(start)));
    for (const auto& [name, tensor] : tensors) sink(bytes_of(tensor.detach().cpu().contiguous()));
  });
}

}  // namespace quest::data
