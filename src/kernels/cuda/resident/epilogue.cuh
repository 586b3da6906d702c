#pragma once

#include "kernels/cuda/device/tile.cuh"
#include "kernels/cuda/resident/problem.cuh"

namespace quest::kernels::cuda::resident {

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

}  // namespace quest::kernels::cuda::resident
