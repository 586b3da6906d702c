#pragma once

#include "kernels/cuda/short/epilogue.cuh"
#include "kernels/cuda/short/load.cuh"
#include "kernels/cuda/short/mask.cuh"
#include "kernels/cuda/short/softmax.cuh"

namespace quest::kernels::cuda {

// Scores of kRowTiles x 16 queries against 16 keys, on top of whatever the accumulators hold.
template <typename AnyTile, int kRowTiles>
__device__ void add_scores(Accumulator (&scores)[kRowTiles][2], const Fragment (&query)[kRowTiles][AnyTile::kDim / 16],
                           AnyTile keys, int first_key) {
#pragma unroll
  for (int depth = 0; depth < AnyTile::kDim / 16; ++depth) {
    const Fragment key = load_matrix(depth_first(keys, first_key, depth));
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      multiply_add(scores[tile][0], query[tile][depth], key.x[0], key.x[1]);
      multiply_add(scores[tile][1], query[tile][depth], key.x[2], key.x[3]);
    }
  }
}

template <typename AnyTile, int kRowTiles, bool kCausal>
struct QueryTile {
  static constexpr int D = AnyTile::kDim;
  int first_row;
  int length;
  AnyTile keys;
  AnyTile values;
  Fragment query[kRowTiles][D / 16];
  RowPair offset[kRowTiles];

  __device__ int key_end() const { return kCausal ? min(length, first_row + 16 * kRowTiles) : length; }

  __device__ void scores_of(Accumulator (&scores)[kRowTiles][2], int first_key) const {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
      for (int block = 0; block < 2; ++block) {
        scores[tile][block] = {-offset[tile].x[0], -offset[tile].x[0], -offset[tile].x[1], -offset[tile].x[1]};
      }
    }
    add_scores<AnyTile, kRowTiles>(scores, query, keys, first_key);
    if (first_key + 16 > length || (kCausal && first_key + 15 > first_row)) {
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int block = 0; block < 2; ++block) {
          mask_block<kCausal, false>(scores[tile][block], first_row + 16 * tile, first_key + 8 * block, length,
                                     [](float& score) { score = -INFINITY; });
        }
      }
    }
  }

  __device__ void choose_offset() {
    bool safe = true;
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      const RowPair bound = score_bound(query[tile]);
      safe = safe && bound_is_safe(bound);
      offset[tile] = offset_of(bound);
    }
    if (!safe) use_largest_score();
  }

  __device__ void use_largest_score() {
    RowPair largest[kRowTiles];
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      offset[tile] = {0, 0};
      largest[tile] = {-INFINITY, -INFINITY};
    }
#pragma unroll 1
    for (int first_key = 0; first_key < key_end(); first_key += 16) {
      Accumulator scores[kRowTiles][2];
      scores_of(scores, first_key);
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& row = largest[tile].x[i / 2];
          row = fmaxf(row, fmaxf(scores[tile][0].x[i], scores[tile][1].x[i]));
        }
      }
    }
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

template <typename AnyTile, int kRowTiles, bool kCausal>
__device__ void attend(const QueryTile<AnyTile, kRowTiles, kCausal>& tile, __nv_bfloat16* out, float* lse) {
  constexpr int D = AnyTile::kDim;
  Accumulator acc[kRowTiles][D / 8] = {};
  Accumulator sums[kRowTiles] = {};
  const int key_end = tile.key_end();
#pragma unroll 1
  for (int first_key = 0; first_key < key_end; first_key += 16) {
    Accumulator scores[kRowTiles][2];
    tile.scores_of(scores, first_key);
    Fragment weights[kRowTiles];
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      exponentiate(scores[t][0]);
      exponentiate(scores[t][1]);
      weights[t] = pack(scores[t][0], scores[t][1]);
      add_row_sums(sums[t], weights[t]);
    }
#pragma unroll
    for (int column = 0; column < D / 16; ++column) {
      const Fragment value = load_matrix_transposed(rows_first(tile.values, first_key, column));
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        multiply_add(acc[t][2 * column], weights[t], value.x[0], value.x[1]);
        multiply_add(acc[t][2 * column + 1], weights[t], value.x[2], value.x[3]);
      }
    }
  }
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) {
    const int first_row = tile.first_row + 16 * t;
    const RowPair total = {sums[t].x[0], sums[t].x[2]};
    store_rows(out, acc[t], reciprocals(total).x, first_row, tile.length);
    store_lse(lse, tile.offset[t], total, first_row, tile.length);
  }
}

// One block owns one head; its unit keys and values never leave shared memory. Each warp takes tiles from both ends in
// turn, so that causal work is even.
template <int D, int kRows, int kWarps, int kMinBlocks, int kRowTiles, bool kCausal>
__global__ void __launch_bounds__(kWarps * 32, kMinBlocks) short_forward(ForwardProblem problem) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int length = problem.length;
  const int64_t head_offset = int64_t{blockIdx.x} * length * D;
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  QueryTile<Tile<D, kRows>, kRowTiles, kCausal> tile{
      .length = length, .keys = {base}, .values = {base + Tile<D, kRows>::kBytes}};
  copy_rows_async<kWarps>(tile.keys, problem.k + head_offset, length);
  commit_copies();
  copy_rows_async<kWarps>(tile.values, problem.v + head_offset, length);
  commit_copies();
  wait_copies<1>();
  normalize_owned_keys<kWarps>(tile.keys, length, [](int, float) {});
  wait_copies<0>();
  __syncthreads();

  constexpr int kTiles = kRows / (16 * kRowTiles);
#pragma unroll 1
  for (int turn = 0; turn * kWarps < kTiles; ++turn) {
    tile.first_row = alternating_tile<kWarps>(turn) * 16 * kRowTiles;
    if (tile.first_row >= length) continue;
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      RowFetch<D> fetch;
      fetch.start(problem.q + head_offset, tile.first_row + 16 * t, length);
      fetch.finish(tile.query[t]);
    }
    tile.choose_offset();
    attend(tile, problem.out + head_offset, problem.lse + int64_t{blockIdx.x} * length);
  }
}

}  // namespace quest::kernels::cuda
