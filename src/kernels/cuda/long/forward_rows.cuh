#pragma once

// What a warpgroup of the forward does with the 64 rows it owns: scores to weights, their sums, the finished rows.

#include <cmath>
#include <cstdint>

#include "kernels/cuda/device/operands.cuh"

namespace quest::kernels::cuda::long_sequence {

// Unit keys bound a score by |scale| |q|, so the largest weight of a row is known to lie between 2^-bound and 2^bound.
// Up to `free` weights are taken as they are, up to `limit` less an offset that depends on q alone: nothing is ever
// rescaled. The limits keep weights in the range of the storage type, with room for the values they multiply.
template <typename T>
struct WeightRange;

template <>
struct WeightRange<__nv_bfloat16> {
  static constexpr float kFree = 60.0f;
  static constexpr float kLimit = 92.0f;
};

template <>
struct WeightRange<__half> {
  static constexpr float kFree = 15.0f;
  static constexpr float kLimit = 15.0f;
};

// A thread holds parts of two rows, lane_row() and eight below, of its warp's sixteen.
struct RowPair {
  float x[2];
};

// |q| of the thread's rows, a little too large rather than too small.
template <typename T, int kRows, int kColumns>
__device__ RowPair query_norms(Panel<kRows, kColumns> q, int first_row) {
  RowPair norms;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float squares = 0;
#pragma unroll
    for (int chunk = 0; chunk < kColumns / 8; chunk += 4) {
      const uint32_t address = q.chunk_address(first_row + lane_row() + 8 * half, chunk + lane_id() % 4);
      uint32_t words[4];
      asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "r"(address));
#pragma unroll
      for (int i = 0; i < 4; ++i) squares = dot_pair<T>(words[i], words[i], squares);
    }
    norms.x[half] = 1.01f * sqrtf(quad_sum(squares));
  }
  return norms;
}

// 2^x for 2^x a normal number: a cubic on the fraction, the exponent added to its bits. As exact as either storage type
// asks, and it leaves the unit for special functions to others.
__device__ inline float exp2_cubic(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: the integer nearest x ends up in the low bits
  const float rounded = x + kRound;
  const float fraction = x - (rounded - kRound);
  const float cubic =
      fmaf(fmaf(fmaf(0.0551716688f, fraction, 0.2426111328f), fraction, 0.6932609864f), fraction, 0.9999280729f);
  return __int_as_float(__float_as_int(cubic) + (__float_as_int(rounded) << 23));
}

// Scores to weights 2^(factor score - offset). Of every kCubicPeriod weights of a thread one is a cubic; 0: none.
template <int kCubicPeriod, int kBlocks>
__device__ void exponentiate(Accumulator (&s)[kBlocks], float factor, const RowPair& offset) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x = fmaf(s[block].x[i], factor, -offset.x[i / 2]);
      bool cubic = false;
      if constexpr (kCubicPeriod != 0) cubic = (4 * block + i) % kCubicPeriod == 0;
      s[block].x[i] = cubic ? exp2_cubic(x) : exp2_fast(x);
    }
}

// Sets what is not visible: columns from `visible` of the row on, counted from the thread's first.
template <int kBlocks>
__device__ void hide(Accumulator (&s)[kBlocks], const int (&visible)[2], float value) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (8 * block + i % 2 >= visible[i / 2]) s[block].x[i] = value;
}

// Weights as the left operand of the product with the values.
template <typename T, int kBlocks>
__device__ void round_weights(const Accumulator (&s)[kBlocks], Fragment (&weights)[kBlocks / 2]) {
#pragma unroll
  for (int step = 0; step < kBlocks / 2; ++step) weights[step] = pack<T>(s[2 * step], s[2 * step + 1]);
}

// A row is divided by the sum of what its weights were rounded to.
template <typename T, int kSteps>
__device__ void add_weights(const Fragment (&weights)[kSteps], RowPair& sums) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
#pragma unroll
    for (int word = 0; word < 4; ++word)
      sums.x[word % 2] += low_half<T>(weights[step].x[word]) + high_half<T>(weights[step].x[word]);
}

// Divides the accumulated rows by the sums of their weights and stores those that exist.
template <typename T, int kBlocks>
__device__ void store_rows(const Accumulator (&out)[kBlocks], const RowPair& sums, T* destination,
                           std::int64_t row_stride, int row, int rows, int columns) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float reciprocal = sums.x[half] > 0 ? 1.0f / sums.x[half] : sums.x[half];
#pragma unroll
    for (int block = 0; block < kBlocks; block += 4) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        words[i] = pack<T>(out[block + i].x[2 * half] * reciprocal, out[block + i].x[2 * half + 1] * reciprocal);
      transpose_quad(words);
      const int column = 8 * (block + lane_id() % 4);
      if (row + 8 * half < rows && column < columns)
        store_global(destination + (row + 8 * half) * row_stride + column, words);
    }
  }
}

}  // namespace quest::kernels::cuda::long_sequence
