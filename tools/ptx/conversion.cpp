// Conversions between types of numbers and of addresses.

#include <cmath>
#include <limits>
#include <type_traits>

#include "tools/ptx/decode.h"
#include "tools/ptx/lanewise.h"
#include "tools/ptx/small_floats.h"

namespace quest::testing::ptx {
namespace {

// What does not fit becomes the nearest number that does; NaN becomes zero.
template <typename Integer>
Integer saturated(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
  if (value >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

template <typename To, typename From>
Execute convert(const Name& name) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (has_part(name, "rni")) return lanewise<To, From>([](From x) { return saturated<To>(std::nearbyint(x)); });
    if (has_part(name, "rzi")) return lanewise<To, From>([](From x) { return saturated<To>(std::trunc(x)); });
    return nullptr;
  }
  return lanewise<To, From>([](From x) { return static_cast<To>(x); });
}

Execute from_16_bits(std::string_view type) {
  using Half = std::uint16_t;
  if (type == "f16") return lanewise<float, Half>([](Half x) { return static_cast<float>(float16_value(x)); });
  if (type == "bf16") return lanewise<float, Half>([](Half x) { return static_cast<float>(bfloat16_value(x)); });
  return nullptr;
}

Execute to_16_bits(std::string_view type) {
  using Half = std::uint16_t;
  using Word = std::uint32_t;
  if (type == "f16") return lanewise<Half, float>([](float x) { return float16_bits(x); });
  if (type == "bf16") return lanewise<Half, float>([](float x) { return bfloat16_bits(x); });
  if (type == "f16x2") {
    return lanewise<Word, float, float>(
        [](float high, float low) { return static_cast<Word>(float16_bits(high)) << 16U | float16_bits(low); });
  }
  if (type == "bf16x2") {
    return lanewise<Word, float, float>(
        [](float high, float low) { return static_cast<Word>(bfloat16_bits(high)) << 16U | bfloat16_bits(low); });
  }
  return nullptr;
}

Execute address_conversion(const Name& name) {
  using Address = std::uint64_t;
  if (has_part(name, "param")) return lanewise<Address, Address>([](Address x) { return x + kParameterWindow; });
  if (has_part(name, "global")) return lanewise<Address, Address>([](Address x) { return x; });
  if (!has_part(name, "shared")) return nullptr;
  return has_part(name, "to") ? lanewise<Address, Address>([](Address x) { return x - kSharedWindow; })
                              : lanewise<Address, Address>([](Address x) { return x + kSharedWindow; });
}

}  // namespace

Execute conversion(const Name& name) {
  if (name[0] == "cvta") return address_conversion(name);
  if (name[0] != "cvt") return nullptr;
  const std::string_view to = name[name.size() - 2];
  const std::string_view from = name.back();
  if (to == "f32" && from.ends_with("f16")) return from_16_bits(from);
  if (from == "f32" && to.find("f16") != std::string_view::npos) return to_16_bits(to);
  if (has_part(name, "sat")) {
    return from == "f32" && to == "f32"
               ? lanewise<float, float>([](float x) { return x > 0 ? std::fmin(x, 1.0F) : 0.0F; })
               : nullptr;
  }
  return for_type(
      to, [&](auto t) { return for_type(from, [&](auto f) { return convert<decltype(t), decltype(f)>(name); }); });
}

}  // namespace quest::testing::ptx
