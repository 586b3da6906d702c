#pragma once

// dQ summed by blocks that own keys, in whatever order they run: fixed-point numbers, whose sums do not depend on the
// order. With ‖k'‖ = 1 a row is bounded before it is known,
//   |Σ_j dS_j k'_j| <= Σ_j p_j |dropout_j dO·v_j - Δ| <= ‖dO‖ max_j ‖v_j‖ / (1 - dropout) + |Δ|.

#include "kernels/cuda/device/fixed_point.cuh"
#include "kernels/cuda/portable/lead_back.cuh"
#include "kernels/cuda/portable/store.cuh"
#include "kernels/cuda/portable/tile_mma.cuh"

namespace quest::kernels::cuda::portable {

// Queries of one tile; those of a sequence begin with its first query.
inline constexpr int kSumRows = 64;

// A tile of kSumRows by kWidth numbers lies in memory as warps hold accumulators, so that each addition of a warp is
// one run of 128 bytes.
template <int kWidth>
__device__ int32_t* accumulator_in_tile(int32_t* tile, int row_tile, int block) {
  return tile + (row_tile * (kWidth / 8) + block) * 128 + lane_id();
}

__device__ inline void add_to(int32_t* sum, int32_t x) {
  asm volatile("red.global.add.s32 [%0], %1;" ::"l"(sum), "r"(x) : "memory");
}

// The transposed gradients of scores, [keys][queries], times keys: each warp of the block sums a part of it over all
// keys and adds it to a tile of sums, or takes it back.
template <typename T, int kWidth, int kWarps, typename ScoreTile, typename KeyTile>
__device__ void add_query_gradients(int32_t* to, ScoreTile scores, KeyTile keys, const float* to_fixed,
                                    bool takes_back) {
  using Operand = typename TileMma<T>::Operand;
  constexpr int kColumnParts = kWidth >= 64 ? kWarps / 2 : 1;
  constexpr int kTiles = kSumRows / 16 * kColumnParts / kWarps;
  constexpr int kColumnBlocks = kWidth / 8 / kColumnParts;
  constexpr int kSteps = ScoreTile::kRows / 16;
  // Where registers hold the left operand for all keys, few sums are open at a time and leave while others are formed.
  constexpr bool kHeld = kSteps * kTiles <= 8;
  constexpr int kSpan = kHeld ? 2 : kColumnBlocks;
  const int row_tile = warp_id() / kColumnParts * kTiles;
  const int first_block = warp_id() % kColumnParts * kColumnBlocks;
  Operand left[kHeld ? kSteps : 1][kTiles];
  const auto load_left = [&](int step) {
#pragma unroll
    for (int r = 0; r < kTiles; ++r) {
      left[kHeld ? step : 0][r] = TileMma<T>::load_left_transposed(scores, step * 16, row_tile + r);
    }
  };
  if constexpr (kHeld) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) load_left(step);
  }
#pragma unroll
  for (int column = 0; column < kColumnBlocks; column += kSpan) {
    const int first = first_block + column;
    Accumulator sums[kTiles][kSpan] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if constexpr (!kHeld) load_left(step);
#pragma unroll
      for (int block = 0; block < kSpan; block += 2) {
        const Operand right = TileMma<T>::load_right_transposed(keys, step * 16, (first + block) / 2);
#pragma unroll
        for (int r = 0; r < kTiles; ++r) TileMma<T>::multiply(sums[r] + block, left[kHeld ? step : 0][r], right);
      }
    }
#pragma unroll
    for (int r = 0; r < kTiles; ++r) {
      const int row = (row_tile + r) * 16 + lane_row();
      const float factor[2] = {to_fixed[row], to_fixed[row + 8]};
#pragma unroll
      for (int block = 0; block < kSpan; ++block) {
        int32_t* at = accumulator_in_tile<kWidth>(to, row_tile + r, first + block);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int32_t x = __float2int_rn(__fmul_rn(sums[r][block].x[i], factor[i / 2]));
          add_to(at + i * 32, takes_back ? -x : x);
        }
      }
    }
  }
}

struct FinishParameters {
  AttentionProblem problem;
  int32_t* sums;          // [B, H, tiles][kSumRows · kWidth]
  const float* to_fixed;  // [B, H, Nq]
  Matrix grad_q;
  QueryChain query_chain;
};

inline constexpr int kFinishThreads = kSumRows / 16 * 32;

template <typename T, int kWidth>
__global__ void __launch_bounds__(kFinishThreads) finish_kernel(const __grid_constant__ FinishParameters p) {
  using Tile = SharedTile<T, kWidth, kSumRows>;
  __shared__ alignas(16) uint8_t rows[Tile::kBytes];
  __shared__ float scratch[kFinishThreads / 32 * kWidth];
  const AttentionProblem& problem = p.problem;
  const Place place(problem, problem.cu_seqlens_q, problem.queries, problem.heads, kSumRows, blockIdx.x);
  const Sequence sequence(problem, place.sequence);
  const int first = place.tile * kSumRows;
  const int end = static_cast<int>(sequence.queries);
  if (first >= end) {
    if (p.query_chain.gain_partials != nullptr) clear_gain_partial(p.query_chain, blockIdx.x);
    return;
  }
  const int first_row = first + warp_id() * 16;
  int32_t* tile = p.sums + static_cast<int64_t>(blockIdx.x) * kSumRows * kWidth;
  const float* to_fixed =
      p.to_fixed + dense_row(sequence.batch, problem.heads, place.head, problem.queries, sequence.first_query);
  float unit[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + lane_row();
    unit[half] = row < end ? 1.0f / to_fixed[row] : 0.0f;
  }
  Accumulator grads[kWidth / 8];
#pragma unroll
  for (int block = 0; block < kWidth / 8; ++block) {
    const int32_t* sums = accumulator_in_tile<kWidth>(tile, warp_id(), block);
#pragma unroll
    for (int i = 0; i < 4; ++i) grads[block].x[i] = static_cast<float>(sums[i * 32]) * unit[i / 2];
  }
  const QueryPlace at{blockIdx.x, sequence.batch, place.head, sequence.first_query, first, first_row, end};
  lead_back_queries<kFinishThreads>(grads, p.query_chain, at, Tile{shared_address(rows)}, scratch);
  store_rows<T>(grads, {p.grad_q, sequence.batch, place.head, sequence.first_query}, first_row, end);
}

}  // namespace quest::kernels::cuda::portable
