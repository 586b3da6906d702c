#pragma once

// The types of elements that files of tensors hold, as safetensors names them. Needs no torch.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

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

constexpr const ElementFormat& format_of(ElementType type) {
  return *std::ranges::find(kElementFormats, type, &ElementFormat::type);
}

}  // namespace quest::data
