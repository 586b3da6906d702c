// Products of the tensor cores. Terms are summed in double, where hardware truncates.

#include <array>
#include <bit>

#include "tools/ptx/decode.h"
#include "tools/ptx/small_floats.h"
#include "tools/ptx/warp.h"

namespace quest::testing::ptx {
namespace {

constexpr std::size_t kRows = 16;
constexpr std::size_t kColumns = 8;

// The number of registers that hold a lane's part of D, A, B and C.
constexpr std::size_t kFirstA = 4;
constexpr std::size_t kFirstB = kFirstA + 4;
constexpr std::size_t kFirstC = kFirstB + 2;

// depth: columns of A. value(word, part): an element of those a register holds.
template <std::size_t depth, typename Value>
void multiply(Warp& warp, const Instruction& instruction, Value value) {
  constexpr std::size_t kParts = depth / 8;  // elements in a register
  const auto& at = instruction.operands;
  std::array<std::array<double, depth>, kRows> a{};
  std::array<std::array<double, kColumns>, depth> b{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t group = lane / 4;
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t k = lane % 4 * kParts + part;
      for (std::size_t i = 0; i < 4; ++i) {
        a[group + i % 2 * 8][k + i / 2 * depth / 2] = value(warp.get<std::uint32_t>(at[kFirstA + i], lane), part);
      }
      for (std::size_t i = 0; i < 2; ++i) {
        b[k + i * depth / 2][group] = value(warp.get<std::uint32_t>(at[kFirstB + i], lane), part);
      }
    }
  }
  std::array<std::array<double, kColumns>, kRows> sums{};
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t column = 0; column < kColumns; ++column) sums[row][column] += a[row][k] * b[k][column];
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double sum = sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
      warp.set(at[i], lane, static_cast<float>(sum + double{warp.get<float>(at[kFirstC + i], lane)}));
    }
  }
}

std::uint16_t half_of(std::uint32_t word, std::size_t part) { return static_cast<std::uint16_t>(word >> (16 * part)); }

void multiply_bfloat16(Warp& warp, const Instruction& instruction) {
  multiply<16>(warp, instruction,
               [](std::uint32_t word, std::size_t part) { return bfloat16_value(half_of(word, part)); });
}

void multiply_float16(Warp& warp, const Instruction& instruction) {
  multiply<16>(warp, instruction,
               [](std::uint32_t word, std::size_t part) { return float16_value(half_of(word, part)); });
}

void multiply_tf32(Warp& warp, const Instruction& instruction) {
  constexpr std::uint32_t kKeptBits = 0xFFFFE000U;
  multiply<8>(warp, instruction,
              [](std::uint32_t word, std::size_t) { return double{std::bit_cast<float>(word & kKeptBits)}; });
}

}  // namespace

Execute matrix_product(const Name& name, Instruction& instruction) {
  if (name[0] != "mma") return nullptr;
  instruction.meets = true;
  if (has_part(name, "m16n8k16") && has_part(name, "bf16")) return multiply_bfloat16;
  if (has_part(name, "m16n8k16") && has_part(name, "f16")) return multiply_float16;
  return has_part(name, "m16n8k8") && has_part(name, "tf32") ? multiply_tf32 : nullptr;
}

}  // namespace quest::testing::ptx
