#include "data/safetensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <stdexcept>

#include "data/atomic_file.h"
#include "data/format_error.h"
#include "data/input_file.h"
#include "data/safetensors_index.h"

namespace quest::data {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little endian");

constexpr std::array<std::pair<ElementType, at::ScalarType>, kElementFormats.size()> kScalarTypes = {{
    {ElementType::boolean, at::kBool},
    {ElementType::uint8, at::kByte},
    {ElementType::int8, at::kChar},
    {ElementType::uint16, at::kUInt16},
    {ElementType::int16, at::kShort},
    {ElementType::uint32, at::kUInt32},
    {ElementType::int32, at::kInt},
    {ElementType::uint64, at::kUInt64},
    {ElementType::int64, at::kLong},
    {ElementType::float16, at::kHalf},
    {ElementType::bfloat16, at::kBFloat16},
    {ElementType::float32, at::kFloat},
    {ElementType::float64, at::kDouble},
}};

at::ScalarType scalar_type(ElementType type) {
  return std::ranges::find(kScalarTypes, type, &decltype(kScalarTypes)::value_type::first)->second;
}

ElementType element_type(const std::string& name, const at::Tensor& tensor) {
  const auto* const found =
      std::ranges::find(kScalarTypes, tensor.scalar_type(), &decltype(kScalarTypes)::value_type::second);
  if (found == kScalarTypes.end() || tensor.layout() != at::kStrided) {
    throw std::invalid_argument("tensor " + in_quotes(name) +
                                ": expected a dense tensor of bool, integers or floats, got " + tensor.toString() +
                                "; convert it first");
  }
  return found->first;
}

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

at::Tensor read_tensor(const InputFile& file, std::uint64_t data_begin, const SafetensorsEntry& entry) {
  at::Tensor tensor = at::empty(entry.shape, scalar_type(entry.type));
  const auto bytes = bytes_of(tensor);
  file.read_at(data_begin + entry.begin, bytes);
  // Any other byte in a bool is undefined behaviour for whoever uses it.
  if (entry.type == ElementType::boolean && std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; })) {
    throw FormatError("tensor " + in_quotes(entry.name) + ": expected bytes 0 and 1 in a BOOL, found others");
  }
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
                             .type = element_type(name, tensor),
                             .shape = tensor.sizes().vec(),
                             .begin = position,
                             .end = end});
    position = end;
  }
  const std::string start = safetensors_start(index);
  write_atomically(path, [&](const ByteSink& sink) {
    sink(std::as_bytes(std::span(start)));
    for (const auto& [name, tensor] : tensors) sink(bytes_of(tensor.detach().cpu().contiguous()));
  });
}

}  // namespace quest::data
