#pragma once

#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda {

// Calls replace(value) for every element of a 16x8 accumulator that key < length (and key <= query when causal)
// forbids. Queries lie along the rows, or along the columns when kTransposed.
template <bool kCausal, bool kTransposed, typename Replace>
__device__ void mask_block(Accumulator& block, int first_row, int first_column, int length, Replace replace) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + lane_row() + (i / 2) * 8;
    const int column = first_column + lane_column() + i % 2;
    const int query = kTransposed ? column : row;
    const int key = kTransposed ? row : column;
    if (key >= length || (kCausal && key > query)) replace(block.x[i]);
  }
}

// Sets the scores of keys at or beyond length, columns of the accumulators, to minus infinity.
template <int kBlocks>
__device__ void mask_padding(Accumulator (&scores)[kBlocks], int first_key, int length) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    if (first_key + 8 * block + 8 <= length) continue;
    mask_block<false, false>(scores[block], 0, first_key + 8 * block, length, [](float& score) { score = -INFINITY; });
  }
}

}  // namespace quest::kernels::cuda
