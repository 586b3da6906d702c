#pragma once

#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/tile.cuh"
#include "kernels/cuda/resident/mask.cuh"
#include "kernels/cuda/resident/softmax.cuh"

namespace quest::kernels::cuda::resident {

// What a product with a key in shared memory is still to be multiplied by: for a lane's two columns.
struct GivenKeys {
  uint32_t address;  // of scale log2(e) / |k| of every key, in shared memory

  __device__ float2 factors(int first_key) const {
    return load_shared_float2(address + (first_key + lane_column()) * 4);
  }
};

// kRowTiles x 16 queries of one warp against all keys of a head in shared memory.
template <typename T, typename AnyTile, int kRowTiles, typename Lengths>
struct QueryTile {
  static constexpr int D = AnyTile::kDim;
  const HeadShape& shape;
  Lengths lengths;
  AnyTile keys;
  AnyTile values;
  int first_row = 0;
  Fragment query[kRowTiles][D / 16];
  RowPair offset[kRowTiles];

  // Calls visit(first_key, part) for blocks of 16 keys; only the last ones need a mask.
  template <typename Visit>
  __device__ void for_each_key_block(Visit visit) const {
    const int seen_by_all = shape.visible_keys(first_row);
    const int end = shape.visible_keys(first_row + 16 * kRowTiles - 1);
    int first_key = 0;
#pragma unroll 1
    for (; first_key + 16 <= seen_by_all; first_key += 16) visit(first_key, Part<2, false>{});
#pragma unroll 1
    for (; first_key + most_in_half<D>() < end; first_key += 16) visit(first_key, Part<2, true>{});
    if constexpr (most_in_half<D>() > 0) {
      if (first_key < end) visit(first_key, Part<1, true>{});
    }
  }

  template <typename AnyPart>
  __device__ void scores_of(Accumulator (&scores)[kRowTiles][2], int first_key, AnyPart /*part*/) const {
    constexpr int kBlocks = AnyPart::kBlocks;
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) scores[tile][0] = scores[tile][1] = {};
#pragma unroll
    for (int depth = 0; depth < D / 16; ++depth) {
      const Fragment key = load_matrix(depth_first(keys, first_key, depth));
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
        multiply_add<T>(scores[tile][0], query[tile][depth], key.x[0], key.x[1]);
        if constexpr (kBlocks == 2) multiply_add<T>(scores[tile][1], query[tile][depth], key.x[2], key.x[3]);
      }
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const float2 factors = lengths.factors(first_key + 8 * block);
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& x = scores[tile][block].x[i];
          x = fmaf(x, i % 2 == 0 ? factors.x : factors.y, -offset[tile].x[i / 2]);
        }
      }
    }
    if constexpr (AnyPart::kMasked) {
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          mask_block<false>(scores[tile][block], first_row + 16 * tile, first_key + 8 * block, shape,
                            [](float& score) { score = -INFINITY; });
        }
      }
    }
  }

  __device__ void use_bound() {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      offset[tile] = offset_from_bound<T>(query[tile], shape.key_factor);
    }
  }

  __device__ void use_largest_score() {
    RowPair largest[kRowTiles];
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      offset[tile] = {0, 0};
      largest[tile] = {-INFINITY, -INFINITY};
    }
    for_each_key_block([&](int first_key, auto part) {
      Accumulator scores[kRowTiles][2];
      scores_of(scores, first_key, part);
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4 * part.kBlocks; ++i) {
          float& row = largest[tile].x[i % 4 / 2];
          row = fmaxf(row, scores[tile][i / 4].x[i % 4]);
        }
      }
    });
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      offset[tile] = {quad_max(largest[tile].x[0]), quad_max(largest[tile].x[1])};
    }
  }
};

__device__ inline RowPair reciprocals(RowPair sum) { return {reciprocal_fast(sum.x[0]), reciprocal_fast(sum.x[1])}; }

__device__ inline void store_lse(float* lse, RowPair offset, RowPair total, int first_row, int length) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + lane_row();
    if (row < length && lane_id() % 4 == 0) lse[row] = (offset.x[half] + __log2f(total.x[half])) * kLn2;
  }
}

}  // namespace quest::kernels::cuda::resident
