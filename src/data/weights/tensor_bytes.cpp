#include "data/weights/tensor_bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little endian");

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

}  // namespace

at::ScalarType scalar_type(ElementType type) {
  return std::ranges::find(kScalarTypes, type, &decltype(kScalarTypes)::value_type::first)->second;
}

std::optional<ElementType> element_type(at::ScalarType type) {
  const auto* const found = std::ranges::find(kScalarTypes, type, &decltype(kScalarTypes)::value_type::second);
  if (found == kScalarTypes.end()) return std::nullopt;
  return found->first;
}

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

void check_bools(const std::string& name, const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kBool) return;
  if (std::ranges::any_of(bytes_of(tensor), [](std::byte byte) { return byte > std::byte{1}; })) {
    throw FormatError("tensor " + in_quotes(name) + ": expected bytes 0 and 1 in a tensor of bools, found others");
  }
}

}  // namespace quest::data
