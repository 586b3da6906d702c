#pragma once

#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda::resident::mma {

// Hands the tiles of a head to the warps of the block, from both ends alternately, so that causal work is even.
template <int kTileRows, typename Visit>
__device__ void for_each_row_tile(int length, Visit visit) {
  const int warps = blockDim.x / 32;
  const int tiles = (length + kTileRows - 1) / kTileRows;
#pragma unroll 1
  for (int turn = 0; turn * warps < tiles; ++turn) {
    const int tile = turn * warps + (turn % 2 == 0 ? warp_id() : warps - 1 - warp_id());
    if (tile < tiles) visit(tile * kTileRows);
  }
}

// Warps per block for `tiles` tiles: as many blocks on a multiprocessor as keep the most warps busy, where `warps`
// warps and `blocks` blocks fit.
inline int warps_for(int tiles, int warps, int blocks) {
  int best = 1;
  int most_busy = 0;
  for (int count = 1; count <= blocks && count <= warps; ++count) {
    const int turns = (tiles + warps / count - 1) / (warps / count);
    const int busy = 1000 * count * tiles / turns;
    if (busy < most_busy) continue;
    most_busy = busy;
    best = (tiles + turns - 1) / turns;
  }
  return best;
}

}  // namespace quest::kernels::cuda::resident::mma
