#pragma once

// Sums in fixed point: integers can be added in any order and give the same bits. A bound that is known before the
// first term gives the power of two that makes the best use of 32 bits.

#include <cfloat>
#include <cmath>
#include <cstdint>

namespace quest::kernels::cuda {

template <int kLanes>
__device__ float sum_over(float x) {
#pragma unroll
  for (int distance = 1; distance < kLanes; distance *= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

template <int kLanes>
__device__ float largest_over(float x) {
#pragma unroll
  for (int distance = 1; distance < kLanes; distance *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

// The power of two that brings numbers up to `largest` near one, so that their squares can be summed.
__device__ inline float shrink_to_one(float largest) {
  return __uint_as_float(0x7f000000u - (__float_as_uint(fminf(fmaxf(largest, FLT_MIN), 0x1p126F)) & 0x7f800000u));
}

__device__ inline float fixed_point_factor(float bound) {
  constexpr float kRoundingSlack = 1 + 1.0F / 64;
  constexpr float kLeast = 0x1p-90F;
  const float exponent = ilogbf(fmaxf(bound * kRoundingSlack, kLeast));
  return exp2f(30 - exponent);
}

}  // namespace quest::kernels::cuda
