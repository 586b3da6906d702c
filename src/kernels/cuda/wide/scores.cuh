#pragma once

#include "kernels/cuda/resident/softmax.cuh"

namespace quest::kernels::cuda::resident::wide {

// Between the two products of a forward, and the padding of either pass.

__device__ inline bool is_zero(RowPair offset) { return __all_sync(0xffffffffu, offset.x[0] == 0 && offset.x[1] == 0); }

__device__ inline void subtract(Accumulator& block, RowPair offset) {
#pragma unroll
  for (int i = 0; i < 4; ++i) block.x[i] -= offset.x[i / 2];
}

// Down to a value of the type: a row is divided by the sum of exactly the weights that the tensor cores multiply, so
// that a row of one key returns its value unchanged. The bias of truncation, kTruncated in units of log2 on average,
// cancels in the division and is put back into the log-sum-exp.
template <typename T>
__device__ void truncate(Accumulator& block) {
#pragma unroll
  for (float& x : block.x) x = __uint_as_float(__float_as_uint(x) & WeightRange<T>::kKeptBits);
}

// Sets the scores of keys at or beyond length, columns of the accumulators, to minus infinity. There are at least
// kFewestKeys keys.
template <int kFewestKeys, int kBlocks>
__device__ void mask_padding(Accumulator (&scores)[kBlocks], int first_key, int length) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const int first = first_key + 8 * block;
    if (first + 8 <= kFewestKeys || first + 8 <= length) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + lane_column() + i % 2 >= length) scores[block].x[i] = -INFINITY;
    }
  }
}

}  // namespace quest::kernels::cuda::resident::wide
