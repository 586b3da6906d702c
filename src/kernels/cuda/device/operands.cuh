#pragma once

// Operands of wgmma: descriptors of what lies in tiles of shared memory, and accumulators as the left operand of the
// next product.

#include "kernels/cuda/device/tile.cuh"

namespace quest::kernels::cuda {

// A [kRows][kColumns] matrix of a 16-bit type in shared memory, as blocks of 64 columns, each a SwizzledTile.
template <int kRowCount, int kColumnCount>
struct Panel {
  static constexpr int kRows = kRowCount;
  static constexpr int kColumns = kColumnCount;
  static constexpr int kBlockBytes = kRows * 128;
  static constexpr int kBytes = kColumns / 64 * kBlockBytes;

  uint32_t base;

  __device__ uint32_t block(int index) const { return base + index * kBlockBytes; }
  __device__ uint32_t chunk_address(int row, int chunk) const {
    return SwizzledTile<kRows>{block(chunk / 8)}.chunk_address(row, chunk % 8);
  }
};

// Of swizzled tiles; the high word says: 1024 bytes between groups of eight rows, 128-byte swizzle.
inline constexpr uint32_t kSwizzledHigh = 1024 >> 4 | 1 << 30;

struct ColumnsSummed {
  static constexpr int kTransposed = 0;
  static constexpr uint32_t high = kSwizzledHigh;
  uint32_t low;
};

struct RowsSummed {
  static constexpr int kTransposed = 1;
  static constexpr uint32_t high = kSwizzledHigh;
  uint32_t low;
};

// Rows of the tile from first_row on are rows of A or columns of B; columns 16 * step .. 16 * step + 15 are summed
// over.
template <int kRows>
__device__ ColumnsSummed sum_columns(SwizzledTile<kRows> tile, int first_row, int step) {
  return {(tile.base >> 4) + first_row * 8 + 2 * step};
}

// Rows first_row .. first_row + 15 are summed over; columns of the tile are columns of B.
template <int kRows>
__device__ RowsSummed sum_rows(SwizzledTile<kRows> tile, int first_row) {
  return {(tile.base >> 4) + first_row * 8};
}

// The same of a panel.
template <int kRows, int kColumns>
__device__ ColumnsSummed sum_columns(Panel<kRows, kColumns> panel, int first_row, int step) {
  return {(panel.block(step / 4) >> 4) + first_row * 8 + step % 4 * 2};
}

// Columns of the panel from the given block of 64 on are rows of A or columns of B.
template <int kRows, int kColumns>
__device__ RowsSummed sum_rows(Panel<kRows, kColumns> panel, int first_row, int first_block = 0) {
  return {(panel.block(first_block) >> 4) + first_row * 8 + (Panel<kRows, kColumns>::kBlockBytes >> 4 << 16)};
}

// The same for columns of the panel's block and, after them, 8 columns of a block of 16 rows that lies behind the
// panel.
template <int kRows>
__device__ RowsSummed sum_rows_beside(Panel<kRows, 64> panel, int first_row, uint32_t columns_beside) {
  const uint32_t address = panel.base >> 4;
  const uint32_t first = address + (((columns_beside >> 4) - address) << 16);
  return {first + first_row * 8 - (first_row * 8 << 16)};
}

// Without swizzle: an address and the distances, all in units of 16 bytes, between the 8x8 matrices that follow each
// other along the sum (low word) and along the product's columns (high word).
template <bool kRowsSummed>
struct ColumnOperand {
  static constexpr int kTransposed = kRowsSummed;
  uint32_t low;
  uint32_t high;
};

// Rows of the tile from first_row on are columns of the product; columns 16 * step .. 16 * step + 15 are summed over.
template <int D>
__device__ ColumnOperand<false> sum_columns(ColumnTile<D> tile, int first_row, int step) {
  const uint32_t stride = tile.column_stride >> 4;
  return {(tile.base >> 4) + first_row + 2 * step * stride + (stride << 16), 8};
}

// Rows first_row .. first_row + 15 are summed over; columns of the tile are columns of the product.
template <int D>
__device__ ColumnOperand<true> sum_rows(ColumnTile<D> tile, int first_row) {
  return {(tile.base >> 4) + first_row + (8 << 16), tile.column_stride >> 4};
}

// Accumulators of kColumns columns as the left operand of the next product, padded with zeros to a multiple of 16.
template <int kColumns, typename T = __nv_bfloat16>
__device__ void pack_all(Fragment (&packed)[(kColumns + 15) / 16], const Accumulator (&acc)[kColumns / 8]) {
#pragma unroll
  for (int block = 0; block < kColumns / 16; ++block) packed[block] = pack<T>(acc[2 * block], acc[2 * block + 1]);
  if constexpr (kColumns % 16 != 0) packed[kColumns / 16] = pack<T>(acc[kColumns / 8 - 1], {});
}

}  // namespace quest::kernels::cuda
