#pragma once

// The length of keys whose words a quad of lanes holds.

#include <cfloat>
#include <type_traits>

#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda {

struct KeyScale {
  float power;       // exact power of two that brings the largest element near one; 1 for ordinary keys
  float squares;     // of k * power
  float reciprocal;  // 1 / |k * power|, or 0 for a zero key

  // 1 / |k|; finite, so that a gradient of zero stays zero.
  __device__ float reciprocal_norm() const { return fminf(reciprocal * power, FLT_MAX); }
};

template <typename T, int kWords>
__device__ float sum_of_squares(const uint32_t (&words)[kWords], float power) {
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const float low = low_half<T>(words[i]) * power;
    const float high = high_half<T>(words[i]) * power;
    squares = fmaf(low, low, fmaf(high, high, squares));
  }
  return quad_sum(squares);
}

template <typename T, int kWords>
__device__ float power_near_one(const uint32_t (&words)[kWords]) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    largest = fmaxf(largest, fmaxf(fabsf(low_half<T>(words[i])), fabsf(high_half<T>(words[i]))));
  }
  const int exponent = (__float_as_int(quad_max(largest)) >> 23) - 127;
  return __int_as_float((127 - max(-126, min(126, exponent))) << 23);
}

// Squares of ordinary keys neither overflow nor lose bits; the warp rescales only when one of its keys is extreme.
// Those of float16 never are: even the smallest subnormal has a square of 2^-48. Zeros that stand for no key are not.
template <typename T, int kWords>
__device__ KeyScale key_scale(const uint32_t (&words)[kWords], bool is_key) {
  float power = 1;
  float squares = sum_of_squares<T>(words, power);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if (!__all_sync(0xffffffffu, !is_key || (squares > 1e-6f && squares < 1e6f))) {
      power = power_near_one<T>(words);
      squares = sum_of_squares<T>(words, power);
    }
  }
  return {power, squares, squares > 0 ? reciprocal_root(squares) : 0.0f};
}

template <typename T, int kWords>
__device__ void scale_words(uint32_t (&words)[kWords], float power, float factor) {
  if (power != 1) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = pack<T>(low_half<T>(words[i]) * power, high_half<T>(words[i]) * power);
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = pack<T>(low_half<T>(words[i]) * factor, high_half<T>(words[i]) * factor);
}

// Lets change(half, words) rewrite both rows of which a lane's quad holds the words, lane_row() and eight below.
template <int kBlocks, typename Change>
__device__ void change_rows(Fragment (&rows)[kBlocks], Change change) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t words[2 * kBlocks];
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) words[i] = rows[i / 2].x[half + 2 * (i % 2)];
    change(half, words);
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) rows[i / 2].x[half + 2 * (i % 2)] = words[i];
  }
}

}  // namespace quest::kernels::cuda
