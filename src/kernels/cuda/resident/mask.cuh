#pragma once

#include "kernels/cuda/device/fragments.cuh"
#include "kernels/cuda/resident/problem.cuh"

namespace quest::kernels::cuda::resident {

// Up to so many columns at the end are taken as half a block: where the products of a block are many, half of them is
// worth code of its own.
template <int D>
constexpr int most_in_half() {
  return D >= 64 ? 8 : 0;
}

// Of a block of 16 columns: how many of its two halves there are, and whether some of their scores are hidden.
template <int kBlockCount, bool kIsMasked>
struct Part {
  static constexpr int kBlocks = kBlockCount;
  static constexpr bool kMasked = kIsMasked;
};

// Calls replace(value) for every element of a 16x8 accumulator whose query does not see its key. Queries lie along the
// rows, or along the columns when kTransposed.
template <bool kTransposed, typename Replace>
__device__ void mask_block(Accumulator& block, int first_row, int first_column, const HeadShape& shape,
                           Replace replace) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + lane_row() + (i / 2) * 8;
    const int column = first_column + lane_column() + i % 2;
    const int query = kTransposed ? column : row;
    const int key = kTransposed ? row : column;
    if (key >= shape.visible_keys(query)) replace(block.x[i]);
  }
}

}  // namespace quest::kernels::cuda::resident
