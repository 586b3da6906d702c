#pragma once

// Instructions that do the same to every lane, written as functions of one lane's operands.

#include <string_view>
#include <utility>

#include "tools/ptx/warp.h"

namespace quest::testing::ptx {

template <typename Function, typename Result, typename... Operands>
void execute_lanewise(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      warp.set<Result>(at[0], lane, static_cast<Result>(Function{}(warp.get<Operands>(at[i + 1], lane)...)));
    }(std::index_sequence_for<Operands...>{});
  });
}

// The function may not capture anything.
template <typename Result, typename... Operands, typename Function>
Execute lanewise(Function) {
  return &execute_lanewise<Function, Result, Operands...>;
}

// make(T{}) for the C++ type of a PTX type; null for others.
template <typename Make>
Execute for_type(std::string_view type, Make make) {
  if (type == "pred") return make(bool{});
  if (type == "u8" || type == "b8") return make(std::uint8_t{});
  if (type == "u16" || type == "b16") return make(std::uint16_t{});
  if (type == "s16") return make(std::int16_t{});
  if (type == "u32" || type == "b32") return make(std::uint32_t{});
  if (type == "s32") return make(std::int32_t{});
  if (type == "u64" || type == "b64") return make(std::uint64_t{});
  if (type == "s64") return make(std::int64_t{});
  if (type == "f32") return make(float{});
  if (type == "f64") return make(double{});
  return nullptr;
}

}  // namespace quest::testing::ptx
