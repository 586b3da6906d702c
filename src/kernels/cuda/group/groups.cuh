#pragma once

#include "kernels/cuda/device/operands.cuh"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/resident/load.cuh"

namespace quest::kernels::cuda::resident::group {

// Four warps side by side: 64 rows read the tiles in shared memory together. Warps without a valid row take part in the
// products and skip everything else.

template <typename T, int kBlocks, int D>
__device__ void start_products(Accumulator (&acc)[kBlocks], const Fragment (&rows)[D / 16], ColumnTile<D> columns,
                               int first_column) {
#pragma unroll
  for (int depth = 0; depth < D / 16; ++depth) {
    multiply<T>(acc, rows[depth], sum_columns(columns, first_column, depth), depth > 0);
  }
}

template <typename T, int kCount, int D>
__device__ void start_weighted_rows(Accumulator (&acc)[D / 8], const Fragment (&weights)[kCount], ColumnTile<D> rows,
                                    int first_row) {
#pragma unroll
  for (int block = 0; block < kCount; ++block) {
    multiply<T>(acc, weights[block], sum_rows(rows, first_row + 16 * block), true);
  }
}

// Columns that a group multiplies at once in the backward: what registers allow beside its own rows.
template <int D>
constexpr int kGroupColumns = D <= 96 ? 64 : 32;

// Calls add<columns>(first) for fewer than kStep columns [first, end).
template <int kStep, typename Add>
__device__ void add_last_columns(int first, int end, Add add) {
  if constexpr (kStep > 32) {
    if (first + 32 < end) {
      add.template operator()<32>(first);
      first += 32;
    }
  }
  if (first + 16 < end) {
    add.template operator()<32>(first);
  } else if (first + 8 < end) {
    add.template operator()<16>(first);
  } else if (first < end) {
    add.template operator()<8>(first);
  }
}

// Calls visit(first row of the group, first row of this warp, that of its next group).
template <typename Visit>
__device__ void for_each_group(int length, Visit visit) {
  const int step = blockDim.x / 128 * kGroupRows;
#pragma unroll 1
  for (int first = group_id() * kGroupRows; first < length; first += step) {
    const int own = first + warp_id() % 4 * 16;
    visit(first, own, own + step);
  }
}

// The 16 rows of a tensor that a warp owns next, on their way through its own part of shared memory.
template <typename T, int D>
struct NextRows {
  static constexpr int kBytes = 16 * RowTile<D>::kRowBytes;
  RowTile<D> tile;

  // The memory is that of the block: index says which of a warp's tensors this is.
  __device__ NextRows(uint32_t memory, int index, int tensors)
      : tile{memory + (warp_id() * tensors + index) * kBytes} {}

  __device__ void start(Rows<const T> source, int first_row, int length) const {
#pragma unroll
    for (int i = 0; i < 16 * D / 8 / 32; ++i) {
      const int row = (32 * i + lane_id()) / (D / 8);
      const int chunk = (32 * i + lane_id()) % (D / 8);
      const bool valid = first_row + row < length;
      copy_chunk_async(tile.chunk_address(row, chunk), source[valid ? first_row + row : 0] + chunk * 8, valid);
    }
    commit_copies();
  }

  __device__ void finish(Fragment (&rows)[D / 16]) const {
    wait_copies<0>();
    __syncwarp();
    load_fragments(rows, tile, 0);
    __syncwarp();
  }
};

}  // namespace quest::kernels::cuda::resident::group
