#pragma once

// The part of an additive mask of 16-bit elements that belongs to a tile of scores, on its way through shared memory.
// Every warp copies what its own rows of scores need: no other waits for it.

#include "kernels/cuda/portable/score_rules.cuh"
#include "kernels/cuda/portable/shared_tile.cuh"

namespace quest::kernels::cuda::portable {

template <int kQueries, int kKeys>
using MaskTile = SharedTile<uint16_t, kKeys, kQueries>;

template <typename Tile, bool kStaged>
struct MaskMemory {};

template <typename Tile>
struct MaskMemory<Tile, true> {
  alignas(16) uint8_t mask[Tile::kBytes];
};

// Starts copying kRows rows and kChunks chunks, those from (query, key) on, to (row, chunk) of the tile, by one warp.
// What lies outside of the mask becomes zero.
template <int kRows, int kChunks, typename Tile>
__device__ void copy_mask(Tile tile, int row, int chunk, const ScoreRules& rules, int query, int key) {
  constexpr int kColumns = kChunks * Tile::kChunkElements;
  const auto* elements = static_cast<const uint16_t*>(rules.mask);
  const int64_t stride = rules.opaque_row_stride();
  const int rows_left = rules.queries - query;
  const int keys_left = rules.keys - key;
  const uint16_t* corner = elements + query * stride + key;
  if (reinterpret_cast<uintptr_t>(elements) % 16 == 0 && stride % Tile::kChunkElements == 0) {
#pragma unroll
    for (int i = lane_id(); i < kRows * kChunks; i += 32) {
      const int r = i / kChunks;
      const int column = i % kChunks * Tile::kChunkElements;
      const int count = r < rows_left ? max(0, min(Tile::kChunkElements, keys_left - column)) : 0;
      copy_bytes(tile.chunk_address(row + r, chunk + i % kChunks), count > 0 ? corner + r * stride + column : elements,
                 count * static_cast<int>(sizeof(uint16_t)));
    }
  } else {
#pragma unroll 8
    for (int i = lane_id(); i < kRows * kColumns; i += 32) {
      const int r = i / kColumns;
      const int column = i % kColumns;
      const uint16_t x = r < rows_left && column < keys_left ? corner[r * stride + column] : uint16_t{0};
      const uint32_t at = tile.chunk_address(row + r, chunk + column / Tile::kChunkElements);
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(at + column % Tile::kChunkElements * 2), "h"(x) : "memory");
    }
  }
}

}  // namespace quest::kernels::cuda::portable
