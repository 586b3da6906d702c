#pragma once

#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda::resident {

// Scores are in units of log2. |score| <= bound because keys have length one, so an offset known before the first key
// replaces the running maximum: weights stay below 2^kHeadroom. Only a row whose every score is far below its bound
// comes out with a mean weight under kSmallestMean, where the type no longer resolves weights; it is done again with
// its largest score as the offset.
template <typename T>
struct WeightRange;

template <>
struct WeightRange<__nv_bfloat16> {
  static constexpr float kHeadroom = 60.0f;
  static constexpr float kSmallestMean = 0x1p-100f;
  static constexpr uint32_t kKeptBits = 0xffff0000u;
  static constexpr float kTruncated = 0x1p-8f;
};

template <>
struct WeightRange<__half> {
  static constexpr float kHeadroom = 15.0f;
  static constexpr float kSmallestMean = 0x1p-13f;
  static constexpr uint32_t kKeptBits = 0xffffe000u;
  static constexpr float kTruncated = 0x1p-11f;
};

// Covers the rounding of the unit keys and of the coarse sums: up to D / 8 additions of relative error 2^-8.
inline constexpr float kRoundingSlack = 1.0f + 1.0f / 16.0f;

struct RowPair {
  float x[2];
};

__device__ inline float root_fast(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Infinite where the coarse sum overflows: every weight is then zero and the row is done again.
template <typename T, int kBlocks>
__device__ RowPair offset_from_bound(const Fragment (&query)[kBlocks], float key_factor) {
  RowPair offset;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t squares = 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      squares = add_squares_coarsely<T>(squares, query[block].x[half]);
      squares = add_squares_coarsely<T>(squares, query[block].x[half + 2]);
    }
    const float norm = root_fast(quad_sum(low_half<T>(squares) + high_half<T>(squares)));
    offset.x[half] = fmaxf(0.0f, norm * (fabsf(key_factor) * kRoundingSlack) - WeightRange<T>::kHeadroom);
  }
  return offset;
}

template <typename T>
__device__ bool resolved(RowPair total, int length) {
  return fminf(total.x[0], total.x[1]) >= WeightRange<T>::kSmallestMean * static_cast<float>(length);
}

__device__ inline void exponentiate(Accumulator& block) {
#pragma unroll
  for (float& x : block.x) x = exp2_fast(x);
}

}  // namespace quest::kernels::cuda::resident
