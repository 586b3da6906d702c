// wgmma: 64 rows times N columns over a depth of 16. Each of four warps has 16 of the rows, so that a warp can multiply
// by itself. The products are there at once; what they read counts as being read until somebody waits for them.

#include <array>
#include <string>

#include "tools/ptx/block.h"
#include "tools/ptx/decode.h"
#include "tools/ptx/engine_groups.h"
#include "tools/ptx/small_floats.h"

namespace quest::testing::ptx {
namespace {

constexpr std::size_t kDepth = 16;
constexpr std::size_t kRowsOfWarp = 16;
constexpr std::size_t kPiece = 8;  // elements in 16 bytes

// A matrix in shared memory, [lines][depth] or, transposed, [depth][lines].
class Operand {
 public:
  Operand(std::uint64_t descriptor, bool transposed)
      : start_(field(descriptor, 0)),
        leading_(field(descriptor, 16)),
        stride_(field(descriptor, 32)),
        swizzled_(descriptor >> 62U == 1),
        transposed_(transposed) {
    if (descriptor >> 62U > 1) throw Fault("a swizzle of other than 128 bytes");
  }

  // values[line][k] for as many lines, from first_line on. Where nobody uses them, what somebody else may be writing is
  // taken for NaN, and may be written later.
  template <typename Value>
  void read(Warp& warp, bool used, std::size_t first_line, std::size_t lines, std::array<double, kDepth>* values,
            Value value) const {
    const Actor actor = warp.actor(Engine::products, kAllTogether);
    const std::size_t rows = transposed_ ? kDepth : lines;
    const std::size_t pieces = (transposed_ ? lines : kDepth) / kPiece;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t piece = 0; piece < pieces; ++piece) {
        std::array<std::uint16_t, kPiece> elements;
        const std::uint64_t address =
            transposed_ ? address_of(row, piece + first_line / kPiece) : address_of(row + first_line, piece);
        if (used) {
          warp.block().shared().read(address, sizeof elements, elements.data(), actor);
        } else {
          warp.block().shared().peek(address, sizeof elements, elements.data(), actor);
        }
        for (std::size_t i = 0; i < kPiece; ++i) {
          const std::size_t along = piece * kPiece + i;
          (transposed_ ? values[along][row] : values[row][along]) = value(elements[i]);
        }
      }
    }
  }

 private:
  static std::uint64_t field(std::uint64_t descriptor, unsigned bit) { return (descriptor >> bit & 0x3FFFU) << 4U; }

  // Of a piece of a row. Eight rows are 1024 bytes with the swizzle, and 128 for each piece without.
  [[nodiscard]] std::uint64_t address_of(std::size_t row, std::size_t piece) const {
    if (swizzled_) {
      return swizzled(start_ + row / 8 * stride_ + row % 8 * 128 + piece / 8 * leading_ + piece % 8 * 16);
    }
    const std::uint64_t groups =
        transposed_ ? row / 8 * leading_ + piece * stride_ : row / 8 * stride_ + piece * leading_;
    return start_ + groups + row % 8 * 16;
  }

  std::uint64_t start_;
  std::uint64_t leading_;
  std::uint64_t stride_;
  bool swizzled_;
  bool transposed_;
};

// Four groups of the kernels for 129 to 208 rows multiply 256 rows, those past the end as they happen to lie there.
bool rows_are_used(Warp& warp) {
  constexpr std::size_t kRowsOfTile = 208;
  const bool wide = warp.block().kernel().name.find("wide_") != std::string::npos;
  return !wide || warp.index() * kRowsOfWarp < kRowsOfTile;
}

// Operands: the sums, the left matrix (four registers or one descriptor), the right one's descriptor, whether to add to
// the sums, two signs, whether the left (if in shared memory) and the right matrix are transposed.
template <typename Value>
void multiply(Warp& warp, const Instruction& instruction, Value value) {
  const auto& at = instruction.operands;
  const auto sums = static_cast<std::size_t>(instruction.vector);
  const bool left_in_registers = at.size() == sums + 9;
  const std::size_t right_at = sums + (left_in_registers ? 4 : 1);
  const auto flag = [&](std::size_t operand) { return warp.get<std::uint32_t>(at[operand], 0) != 0; };
  if (warp.get<std::int32_t>(at[right_at + 2], 0) != 1 || warp.get<std::int32_t>(at[right_at + 3], 0) != 1) {
    throw Fault("a product with its sign changed");
  }

  std::array<std::array<double, kDepth>, kRowsOfWarp> left;
  if (left_in_registers) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t i = 0; i < 8; ++i) {  // registers 0 and 1: columns 0 to 7 of rows 0 to 7 and 8 to 15
        const auto word = warp.get<std::uint32_t>(at[sums + i / 2], lane);
        left[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i % 2 + i / 4 * 8] =
            value(static_cast<std::uint16_t>(word >> (16 * (i % 2))));
      }
    }
  } else {
    const Operand operand(warp.get<std::uint64_t>(at[sums], 0), flag(right_at + 4));
    operand.read(warp, rows_are_used(warp), warp.index() % 4 * kRowsOfWarp, kRowsOfWarp, left.data(), value);
  }
  const std::size_t columns = sums * 2;
  std::vector<std::array<double, kDepth>> right(columns);
  Operand(warp.get<std::uint64_t>(at[right_at], 0), flag(at.size() - 1))
      .read(warp, true, 0, columns, right.data(), value);

  const bool adds = warp.get<bool>(at[right_at + 1], 0);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < sums; ++i) {
      const auto& row = left[lane / 4 + i / 2 % 2 * 8];
      const auto& column = right[i / 4 * 8 + lane % 4 * 2 + i % 2];
      double sum = adds ? double{warp.get<float>(at[i], lane)} : 0.0;
      for (std::size_t k = 0; k < kDepth; ++k) sum += row[k] * column[k];
      warp.set(at[i], lane, static_cast<float>(sum));
    }
  }
}

void multiply_bfloat16(Warp& warp, const Instruction& instruction) { multiply(warp, instruction, bfloat16_value); }
void multiply_float16(Warp& warp, const Instruction& instruction) { multiply(warp, instruction, float16_value); }

void open_products(Warp&, const Instruction&) {}

void await_products(Warp& warp, const Instruction& instruction) {
  await_groups<Engine::products>(warp, instruction);
  warp.block().await_products_of_group(warp);
}

}  // namespace

Execute group_product(const Name& name, Instruction& instruction) {
  if (name[0] != "wgmma") return nullptr;
  instruction.meets = true;
  if (name[1] == "fence") return open_products;
  if (name[1] == "commit_group") return commit_group<Engine::products>;
  if (name[1] == "wait_group") return await_products;
  if (name[1] != "mma_async") return nullptr;
  return name.back() == "bf16" ? multiply_bfloat16 : name.back() == "f16" ? multiply_float16 : nullptr;
}

}  // namespace quest::testing::ptx
