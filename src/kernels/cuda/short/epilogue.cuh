#pragma once

#include "kernels/cuda/device/tile.cuh"
#include "kernels/cuda/short/problem.cuh"

namespace quest::kernels::cuda::short_sequence {

// Writes a 16 x D accumulator, each row half multiplied by its factor, in the storage type; rows at or beyond length
// stay out.
template <typename T, int kColumnBlocks>
__device__ void store_rows(Rows<T> destination, const Accumulator (&acc)[kColumnBlocks], const float (&factor)[2],
                           int first_row, int length) {
  const int t = lane_id() % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + lane_row();
    T* data = destination[row];
    const auto packed = [&](int block) {
      return pack<T>(acc[block].x[2 * half] * factor[half], acc[block].x[2 * half + 1] * factor[half]);
    };
#pragma unroll
    for (int block = 0; block + 4 <= kColumnBlocks; block += 4) {
      uint32_t words[4] = {packed(block), packed(block + 1), packed(block + 2), packed(block + 3)};
      transpose_quad(words);
      if (row < length) store_global(data + (block + t) * 8, words);
    }
#pragma unroll
    for (int block = kColumnBlocks / 4 * 4; block < kColumnBlocks; ++block) {
      if (row < length) *reinterpret_cast<uint32_t*>(data + block * 8 + 2 * t) = packed(block);
    }
  }
}

// Writes a 16 x D accumulator, each row half multiplied by its factor, in the storage type into a tile.
template <typename T, typename AnyTile>
__device__ void stage_rows(AnyTile tile, const Accumulator (&acc)[AnyTile::kDim / 8], const float (&factor)[2],
                           int first_row) {
#pragma unroll
  for (int block = 0; block < AnyTile::kDim / 16; ++block) {
    Accumulator left = acc[2 * block];
    Accumulator right = acc[2 * block + 1];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      left.x[i] *= factor[i / 2];
      right.x[i] *= factor[i / 2];
    }
    store_matrix(rows_first(tile, first_row, block), pack<T>(left, right));
  }
}

// Turns the gradient with respect to the unit key into the gradient with respect to the key, up to the factor 1 / |k|:
// removes the component along the key. The key fragment holds k / |k| times a factor per row; projection is
// 1 / factor^2.
template <typename T, int kColumnBlocks>
__device__ void project_off_keys(Accumulator (&acc)[kColumnBlocks], const Fragment (&key)[kColumnBlocks / 2],
                                 const float (&projection)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float dot = 0;
#pragma unroll
    for (int block = 0; block < kColumnBlocks; ++block) {
      const uint32_t word = key[block / 2].x[half + 2 * (block % 2)];
      dot = fmaf(acc[block].x[2 * half], low_half<T>(word), fmaf(acc[block].x[2 * half + 1], high_half<T>(word), dot));
    }
    dot = -quad_sum(dot) * projection[half];
#pragma unroll
    for (int block = 0; block < kColumnBlocks; ++block) {
      const uint32_t word = key[block / 2].x[half + 2 * (block % 2)];
      acc[block].x[2 * half] = fmaf(dot, low_half<T>(word), acc[block].x[2 * half]);
      acc[block].x[2 * half + 1] = fmaf(dot, high_half<T>(word), acc[block].x[2 * half + 1]);
    }
  }
}

}  // namespace quest::kernels::cuda::short_sequence
