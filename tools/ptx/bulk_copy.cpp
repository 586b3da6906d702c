// The bulk copy engine: bytes, and boxes of tensors, between global and shared memory.

#include "tools/ptx/bulk_copy.h"

#include <array>
#include <cstring>

#include "tools/ptx/block.h"
#include "tools/ptx/decode.h"
#include "tools/ptx/engine_groups.h"

namespace quest::testing::ptx {
namespace {

constexpr std::size_t kPiece = 16;       // bytes
constexpr std::size_t kPiecesOfRow = 8;  // in a box
constexpr std::size_t kElementBytes = 2;
using Piece = std::array<std::byte, kPiece>;

std::uint8_t narrow(std::size_t lane) { return static_cast<std::uint8_t>(lane); }

TensorMap map_at(Warp& warp, int number, std::size_t lane) {
  const std::uint64_t offset = warp.get<std::uint64_t>(number, lane) - kParameterWindow;
  const auto& parameters = warp.block().parameters();
  if (offset + sizeof(TensorMap) > parameters.size()) throw Fault("a tensor map that is no parameter of the kernel");
  TensorMap map;
  std::memcpy(&map, parameters.data() + offset, sizeof map);
  return map;
}

// Calls piece(address in global memory or 0 past an end, address in shared memory) for all of a box.
template <typename Function>
void for_each_piece(const TensorMap& map, const std::array<std::int32_t, 4>& corner, std::uint32_t tile,
                    Function piece) {
  if (tile % 1024 != 0) throw Fault("a swizzled tile at " + std::to_string(tile) + ", no multiple of 1024");
  for (std::uint32_t row = 0; row < map.box_rows; ++row) {
    for (std::size_t i = 0; i < kPiecesOfRow; ++i) {
      const std::array<std::int64_t, 4> at{corner[0] + static_cast<std::int64_t>(i * kPiece / kElementBytes),
                                           std::int64_t{corner[1]} + row, corner[2], corner[3]};
      std::uint64_t address = map.data + static_cast<std::uint64_t>(at[0]) * kElementBytes;
      bool inside = true;
      for (std::size_t d = 0; d < 4; ++d) {
        inside = inside && at[d] >= 0 && at[d] < static_cast<std::int64_t>(map.sizes[d]);
        if (d > 0) address += static_cast<std::uint64_t>(at[d]) * map.strides[d - 1];
      }
      piece(inside ? address : 0, swizzled(tile + row * 128 + i * kPiece));
    }
  }
}

std::array<std::int32_t, 4> corner_at(const Warp& warp, const Instruction& instruction, std::size_t first,
                                      std::size_t lane) {
  std::array<std::int32_t, 4> corner;
  for (std::size_t d = 0; d < 4; ++d) corner[d] = warp.get<std::int32_t>(instruction.operands[first + d], lane);
  return corner;
}

// Operands: tile, map, corner, barrier.
void load_box(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    const TensorMap map = map_at(warp, at[1], lane);
    const auto barrier = warp.get<std::uint32_t>(at[6], lane);
    const Actor actor = warp.block().bulk_copier(barrier, warp, narrow(lane));
    for_each_piece(map, corner_at(warp, instruction, 2, lane), warp.get<std::uint32_t>(at[0], lane),
                   [&](std::uint64_t from, std::uint64_t to) {
                     Piece bytes{};
                     if (from != 0) std::memcpy(bytes.data(), global_memory().at(from, kPiece), kPiece);
                     warp.block().shared().write(to, kPiece, bytes.data(), actor);
                   });
    warp.block().complete_bytes(barrier, map.box_rows * kPiecesOfRow * kPiece);
  });
}

// Operands: map, corner, tile.
void store_box(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    const Actor actor = warp.actor(Engine::stores, narrow(lane));
    for_each_piece(map_at(warp, at[0], lane), corner_at(warp, instruction, 1, lane),
                   warp.get<std::uint32_t>(at[5], lane), [&](std::uint64_t to, std::uint64_t from) {
                     if (to == 0) return;  // what the engine would not store does not matter
                     Piece bytes;
                     warp.block().shared().read(from, kPiece, bytes.data(), actor);
                     std::memcpy(global_memory().at(to, kPiece), bytes.data(), kPiece);
                   });
  });
}

void check_whole_pieces(std::uint32_t bytes) {
  if (bytes % kPiece != 0) throw Fault("a bulk copy of " + std::to_string(bytes) + " bytes, no multiple of 16");
}

// Operands: destination, source, bytes, barrier.
void load_bytes(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    const auto to = warp.get<std::uint32_t>(at[0], lane);
    const auto from = warp.get<std::uint64_t>(at[1], lane);
    const auto bytes = warp.get<std::uint32_t>(at[2], lane);
    const auto barrier = warp.get<std::uint32_t>(at[3], lane);
    check_whole_pieces(bytes);
    const Actor actor = warp.block().bulk_copier(barrier, warp, narrow(lane));
    for (std::uint32_t i = 0; i < bytes; i += kPiece) {
      warp.block().shared().write(to + i, kPiece, global_memory().at(from + i, kPiece), actor);
    }
    warp.block().complete_bytes(barrier, bytes);
  });
}

// Operands: destination, source, bytes.
void add_integers(Warp& warp, const Instruction& instruction) {
  const auto& at = instruction.operands;
  warp.for_each_lane([&](std::size_t lane) {
    const auto to = warp.get<std::uint64_t>(at[0], lane);
    const auto from = warp.get<std::uint32_t>(at[1], lane);
    const auto bytes = warp.get<std::uint32_t>(at[2], lane);
    check_whole_pieces(bytes);
    const Actor actor = warp.actor(Engine::stores, narrow(lane));
    for (std::uint32_t i = 0; i < bytes; i += kPiece) {
      std::array<std::uint32_t, 4> added, sum;
      warp.block().shared().read(from + i, kPiece, added.data(), actor);
      void* place = global_memory().at(to + i, kPiece);
      std::memcpy(sum.data(), place, kPiece);
      for (std::size_t k = 0; k < 4; ++k) sum[k] += added[k];
      std::memcpy(place, sum.data(), kPiece);
    }
  });
}

}  // namespace

Execute bulk_copy(const Name& name) {
  if (name[0] != "cp" || !has_part(name, "bulk")) return nullptr;
  if (has_part(name, "commit_group")) return commit_group<Engine::stores>;
  if (has_part(name, "wait_group")) return await_groups<Engine::stores>;
  if (has_part(name, "reduce")) return has_part(name, "add") && name.back() == "s32" ? add_integers : nullptr;
  const bool loads = has_part(name, "shared::cluster");
  if (has_part(name, "tensor")) return !has_part(name, "4d") ? nullptr : loads ? load_box : store_box;
  return loads ? load_bytes : nullptr;
}

}  // namespace quest::testing::ptx
