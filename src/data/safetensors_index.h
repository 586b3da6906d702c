#pragma once

// The header of a safetensors file: which tensors it holds, of which type and shape, and where. Needs no torch.
//   file = 8 bytes: length n of the header, little endian | n bytes: a JSON object | the tensors' bytes, without holes

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quest::data {

enum class ElementType {
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  bfloat16,
  float32,
  float64
};

struct ElementFormat {
  ElementType type;
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<ElementFormat, 13> kElementFormats = {{
    {ElementType::boolean, "BOOL", 1},
    {ElementType::uint8, "U8", 1},
    {ElementType::int8, "I8", 1},
    {ElementType::uint16, "U16", 2},
    {ElementType::int16, "I16", 2},
    {ElementType::uint32, "U32", 4},
    {ElementType::int32, "I32", 4},
    {ElementType::uint64, "U64", 8},
    {ElementType::int64, "I64", 8},
    {ElementType::float16, "F16", 2},
    {ElementType::bfloat16, "BF16", 2},
    {ElementType::float32, "F32", 4},
    {ElementType::float64, "F64", 8},
}};

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
