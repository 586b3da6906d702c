#pragma once

#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda {

// Scores are in units of log2. |score| <= bound because keys have length one, so a fixed offset replaces the running
// maximum: exp2 stays below 2^60 and, up to kLargestSafeBound, even the most negative row stays a normal number.
inline constexpr float kHeadroom = 60.0f;
inline constexpr float kLargestSafeBound = 92.0f;
// Covers the rounding of the unit keys and of the coarse sums: up to D / 8 additions of relative error 2^-8.
inline constexpr float kRoundingSlack = 1.0f + 1.0f / 16.0f;

struct RowPair {
  float x[2];
};

template <int kBlocks>
__device__ RowPair score_bound(const Fragment (&query)[kBlocks]) {
  RowPair bound;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t squares = 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      squares = add_squares_coarsely(squares, query[block].x[half]);
      squares = add_squares_coarsely(squares, query[block].x[half + 2]);
    }
    bound.x[half] = __fsqrt_rn(quad_sum(low_half(squares) + high_half(squares))) * (kLog2E * kRoundingSlack);
  }
  return bound;
}

__device__ inline bool bound_is_safe(RowPair bound) {
  return __all_sync(0xffffffffu, fmaxf(bound.x[0], bound.x[1]) <= kLargestSafeBound);
}

__device__ inline RowPair offset_of(RowPair bound) {
  return {fmaxf(0.0f, bound.x[0] - kHeadroom), fmaxf(0.0f, bound.x[1] - kHeadroom)};
}

__device__ inline bool is_zero(RowPair offset) { return __all_sync(0xffffffffu, offset.x[0] == 0 && offset.x[1] == 0); }

__device__ inline void subtract(Accumulator& block, RowPair offset) {
#pragma unroll
  for (int i = 0; i < 4; ++i) block.x[i] -= offset.x[i / 2];
}

// Down to a bfloat16 value: a row is divided by the sum of exactly the weights that the tensor cores multiply, so that
// a row of one key returns its value unchanged. The bias of truncation cancels in the division.
__device__ inline void truncate(Accumulator& block) {
#pragma unroll
  for (float& x : block.x) x = __uint_as_float(__float_as_uint(x) & 0xffff0000u);
}

__device__ inline void exponentiate(Accumulator& block) {
#pragma unroll
  for (float& x : block.x) x = exp2_fast(x);
}

}  // namespace quest::kernels::cuda
