#pragma once

#include "kernels/cuda/resident/load.cuh"

namespace quest::kernels::cuda::resident::wide {

// Rows that change where they lie in shared memory.

// Replaces one of this quad's own rows by key_factor k / |k|; hands 1 / |k| to keep.
template <typename T, typename AnyTile, typename Keep>
__device__ void normalize_key(AnyTile keys, int row, int length, float key_factor, Keep keep) {
  change_key(keys, row, length, [&](auto& words) {
    const KeyScale scale = key_scale<T>(words, row < length);
    scale_words<T>(words, scale.power, scale.reciprocal * key_factor);
    if (row < length && lane_id() % 4 == 0) keep(row, scale.reciprocal_norm());
  });
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

}  // namespace quest::kernels::cuda::resident::wide
