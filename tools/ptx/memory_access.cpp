// Loads, stores, reductions, matrix fragments and asynchronous copies.

#include <algorithm>
#include <array>
#include <cstring>

#include "tools/ptx/block.h"
#include "tools/ptx/decode.h"
#include "tools/ptx/engine_groups.h"
#include "tools/ptx/lanewise.h"

namespace quest::testing::ptx {
namespace {

constexpr std::size_t kLongest = 16;  // bytes that one lane moves

std::uint64_t address_of(const Warp& warp, const Instruction& instruction, int number, std::size_t lane) {
  return warp.get<std::uint64_t>(number, lane) + static_cast<std::uint64_t>(instruction.offset);
}

enum class Space { parameter, global, shared };

template <Space space>
void load_bytes(Warp& warp, std::uint64_t address, std::size_t bytes, void* to, std::size_t lane) {
  if constexpr (space == Space::shared) {
    // Addresses of shared memory are 32 bits wide; what lies above them in a register says nothing.
    warp.block().shared().read(static_cast<std::uint32_t>(address), bytes, to,
                               warp.actor(static_cast<std::uint8_t>(lane)));
  } else if constexpr (space == Space::global) {
    std::memcpy(to, global_memory().at(address, bytes), bytes);
  } else {
    const auto& parameters = warp.block().parameters();
    if (address + bytes > parameters.size()) throw Fault("past the end of the kernel's parameters");
    std::memcpy(to, parameters.data() + address, bytes);
  }
}

template <Space space, typename T>
void load(Warp& warp, const Instruction& instruction) {
  const auto count = static_cast<std::size_t>(instruction.vector);
  warp.for_each_lane([&](std::size_t lane) {
    std::array<T, kLongest / sizeof(T)> values;
    const std::uint64_t address = address_of(warp, instruction, instruction.operands[count], lane);
    load_bytes<space>(warp, address, count * sizeof(T), values.data(), lane);
    for (std::size_t i = 0; i < count; ++i) warp.set(instruction.operands[i], lane, values[i]);
  });
}

template <Space space, typename T>
void store(Warp& warp, const Instruction& instruction) {
  const auto count = static_cast<std::size_t>(instruction.vector);
  warp.for_each_lane([&](std::size_t lane) {
    std::array<T, kLongest / sizeof(T)> values;
    for (std::size_t i = 0; i < count; ++i) values[i] = warp.get<T>(instruction.operands[i + 1], lane);
    const std::uint64_t address = address_of(warp, instruction, instruction.operands[0], lane);
    const std::size_t bytes = count * sizeof(T);
    if constexpr (space == Space::shared) {
      warp.block().shared().write(static_cast<std::uint32_t>(address), bytes, values.data(),
                                  warp.actor(static_cast<std::uint8_t>(lane)));
    } else {
      std::memcpy(global_memory().at(address, bytes), values.data(), bytes);
    }
  });
}

void add_to_global(Warp& warp, const Instruction& instruction) {
  warp.for_each_lane([&](std::size_t lane) {
    void* place = global_memory().at(address_of(warp, instruction, instruction.operands[0], lane), 4);
    std::uint32_t sum = 0;
    std::memcpy(&sum, place, sizeof sum);
    sum += warp.get<std::uint32_t>(instruction.operands[1], lane);
    std::memcpy(place, &sum, sizeof sum);
  });
}

// Four matrices of 8 x 8 halves; eight lanes give the rows of each.
template <bool transposed>
void load_matrices(Warp& warp, const Instruction& instruction) {
  std::array<std::array<std::uint16_t, 8>, kLanes> rows;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t address = address_of(warp, instruction, instruction.operands[4], lane);
    load_bytes<Space::shared>(warp, address, sizeof rows[lane], rows[lane].data(), kAllTogether);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t matrix = 0; matrix < 4; ++matrix) {
      const std::size_t across = lane / 4;
      const std::size_t along = lane % 4 * 2;
      const auto element = [&](std::size_t i) -> std::uint32_t {
        return transposed ? rows[matrix * 8 + along + i][across] : rows[matrix * 8 + across][along + i];
      };
      warp.set(instruction.operands[matrix], lane, element(1) << 16U | element(0));
    }
  }
}

// Fills up with zeros what is not taken from global memory.
void copy_asynchronously(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    const auto bytes = warp.get<std::uint32_t>(at[2], lane);
    const auto taken = at.size() > 3 ? warp.get<std::uint32_t>(at[3], lane) : bytes;
    std::array<std::byte, kLongest> values{};
    const auto source = warp.get<std::uint64_t>(at[1], lane);
    if (taken > bytes) throw Fault("a copy takes more than it writes");
    if (taken != 0) std::memcpy(values.data(), global_memory().at(source, taken), taken);
    warp.block().shared().write(warp.get<std::uint32_t>(at[0], lane), bytes, values.data(),
                                warp.actor(Engine::copies, static_cast<std::uint8_t>(lane)));
  });
}

// Four matrices as load_matrices has them, from registers.
void store_matrices(Warp& warp, const Instruction& instruction) {
  for (std::size_t row = 0; row < kLanes; ++row) {
    std::array<std::uint32_t, 4> words;
    for (std::size_t i = 0; i < 4; ++i) {
      words[i] = warp.get<std::uint32_t>(instruction.operands[1 + row / 8], row % 8 * 4 + i);
    }
    const std::uint64_t address = address_of(warp, instruction, instruction.operands[0], row);
    warp.block().shared().write(static_cast<std::uint32_t>(address), sizeof words, words.data(),
                                warp.actor(kSeveralLanes));
  }
}

void largest_in_shared(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    void* place = warp.block().shared().at(static_cast<std::uint32_t>(address_of(warp, instruction, at[1], lane)), 4);
    std::int32_t before = 0;
    std::memcpy(&before, place, sizeof before);
    const std::int32_t after = std::max(before, warp.get<std::int32_t>(at[2], lane));
    std::memcpy(place, &after, sizeof after);
    warp.set(at[0], lane, before);
  });
}

template <typename T>
Execute access_of(const Name& name) {
  const bool loads = name[0] == "ld";
  if (has_part(name, "shared")) return loads ? load<Space::shared, T> : store<Space::shared, T>;
  if (has_part(name, "global")) return loads ? load<Space::global, T> : store<Space::global, T>;
  return loads && has_part(name, "param") ? load<Space::parameter, T> : nullptr;
}

}  // namespace

Execute memory_access(const Name& name, Instruction& instruction) {
  if (name[0] == "ld" || name[0] == "st") {
    instruction.vector = has_part(name, "v4") ? 4 : has_part(name, "v2") ? 2 : 1;
    return for_type(name.back(), [&](auto t) { return access_of<decltype(t)>(name); });
  }
  if (name[0] == "red" && has_part(name, "add") && name.back() == "s32") return add_to_global;
  if (name[0] == "ldmatrix" && has_part(name, "x4")) {
    instruction.meets = true;
    return has_part(name, "trans") ? load_matrices<true> : load_matrices<false>;
  }
  if (name[0] == "stmatrix" && has_part(name, "x4") && !has_part(name, "trans")) {
    instruction.meets = true;
    return store_matrices;
  }
  if (name[0] == "atom" && has_part(name, "shared") && has_part(name, "max") && name.back() == "s32") {
    return largest_in_shared;
  }
  if (name[0] == "cp" && name[1] == "async") {
    if (name[2] == "commit_group") return commit_group<Engine::copies>;
    if (name[2] == "wait_group") return await_groups<Engine::copies>;
    if (name[2] == "cg" || name[2] == "ca") return copy_asynchronously;
  }
  return nullptr;
}

}  // namespace quest::testing::ptx
