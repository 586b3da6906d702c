#pragma once

#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda {

// Every tile says where 16-byte chunks of its rows are: chunk_address(row, chunk), and half_address(row, block, half)
// for chunk 2 * block + half.

// A [kRows][D] matrix of a 16-bit type in shared memory, stored as columns of 16-byte chunks: eight rows of one chunk
// column are 128 contiguous bytes, the 8x8 core matrix that ldmatrix and (without swizzle) wgmma both read without bank
// conflicts. Columns are 32 bytes apart modulo 128, so that storing two rows by four chunks is free of conflicts too.
template <int D, int kRowCount>
struct Tile {
  static constexpr int kDim = D;
  static constexpr int kRows = kRowCount;
  static constexpr int kChunks = D / 8;
  static constexpr int kRowBytes = 16;
  static constexpr int kColumnStride = kRows * 16 + 32;
  static constexpr int kBytes = kChunks * kColumnStride;

  uint32_t base;

  __device__ uint32_t chunk_address(int row, int chunk) const { return base + chunk * kColumnStride + row * 16; }
  __device__ uint32_t half_address(int row, int block, int half) const { return chunk_address(row, 2 * block + half); }
};

// The same with any number of rows.
template <int D>
struct ColumnTile {
  static constexpr int kDim = D;
  static constexpr int kChunks = D / 8;
  static constexpr int kRowBytes = 16;

  uint32_t base;
  uint32_t column_stride;

  __device__ ColumnTile(uint32_t base, int rows) : base(base), column_stride(stride(rows)) {}
  static __host__ __device__ constexpr int stride(int rows) { return rows * 16 + 32; }
  static __host__ __device__ constexpr int bytes(int rows) { return kChunks * stride(rows); }

  __device__ uint32_t chunk_address(int row, int chunk) const { return base + chunk * column_stride + row * 16; }
  __device__ uint32_t half_address(int row, int block, int half) const { return chunk_address(row, 2 * block + half); }
};

// 64 columns in rows of 128 bytes whose 16-byte chunks are permuted the way the tensor copy engine and wgmma call
// "128-byte swizzle"; the base is a multiple of 1024.
template <int kRowCount>
struct SwizzledTile {
  static constexpr int kDim = 64;
  static constexpr int kRows = kRowCount;
  static constexpr int kChunks = 8;
  static constexpr int kRowBytes = 128;
  static constexpr int kBytes = kRows * kRowBytes;

  uint32_t base;

  __device__ uint32_t chunk_address(int row, int chunk) const { return base + row * 128 + ((chunk ^ row % 8) << 4); }
  __device__ uint32_t half_address(int row, int block, int half) const { return chunk_address(row, 2 * block + half); }
};

// Any number of rows of D columns, one after the other; chunks are permuted within a row so that ldmatrix finds eight
// rows of one chunk column in different banks.
template <int D>
struct RowTile {
  static constexpr int kDim = D;
  static constexpr int kChunks = D / 8;
  static constexpr int kRowBytes = 2 * D;
  static constexpr int kPermuted = kChunks % 8 == 0 ? 8 : kChunks % 4 == 0 ? 4 : 2;  // neighbours that change places

  uint32_t base;

  __device__ uint32_t chunk_address(int row, int chunk) const {
    return base + row * kRowBytes + ((chunk ^ row * kPermuted / 8 % kPermuted) << 4);
  }
  // Few addresses that depend on the lane, plus constants.
  __device__ uint32_t half_address(int row, int block, int half) const {
    constexpr int kBlocks = kPermuted / 2;
    return chunk_address(row, 2 * (block % kBlocks) + half) + block / kBlocks * (kPermuted * 16);
  }
};

// Where this lane points ldmatrix.x4 for the 16x16 block at (row, 16 * block); row is a multiple of 8.

// As A operand, or transposed as B operand stored [depth][column] whose column halves are words {0,1} and {2,3}.
template <typename AnyTile>
__device__ uint32_t rows_first(AnyTile tile, int row, int block) {
  return tile.half_address(lane_id() % 16, block, lane_id() / 16) + row * AnyTile::kRowBytes;
}

// As B operand stored [column][depth], its column halves in words {0,1} and {2,3}.
template <typename AnyTile>
__device__ uint32_t depth_first(AnyTile tile, int row, int block) {
  return tile.half_address(lane_id() % 8 + lane_id() / 16 * 8, block, lane_id() / 8 % 2) + row * AnyTile::kRowBytes;
}

}  // namespace quest::kernels::cuda
