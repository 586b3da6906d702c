#pragma once

// The header of a safetensors file: which tensors it holds, of which type and shape, and where. Needs no torch.
//   file = 8 bytes: length n of the header, little endian | n bytes: a JSON object | the tensors' bytes, without holes

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/element_type.h"

namespace quest::data {

struct SafetensorsEntry {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // in bytes, from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsIndex {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

constexpr std::size_t kSafetensorsPrefix = 8;
constexpr std::uint64_t kLongestSafetensorsHeader = 100'000'000;

// The length of the header, from the first bytes of a file of `file_size` bytes. Throws FormatError.
std::uint64_t safetensors_header_length(std::span<const std::byte> start, std::uint64_t file_size);

// Checks everything that can be wrong before a tensor is read. Throws FormatError.
SafetensorsIndex parse_safetensors_header(std::string_view header, std::uint64_t data_size);

// The first bytes of a file: prefix and header, padded so that the tensors start at a multiple of 8.
std::string safetensors_start(const SafetensorsIndex& index);

}  // namespace quest::data
