#pragma once

// Dropout on the device: the same bits as on the CPU.

#include <cstdint>

#include "kernels/dropout_row.h"

namespace quest::kernels::cuda {

// What a row needs to draw, where a DropoutRow was made of it.
using DropoutKeys = uint2;

__device__ inline DropoutKeys dropout_keys(const DropoutRow& row) { return {row.first_key, row.second_key}; }

// For keys 16 · n + i and 16 · n + i + 8 with pair = 8 · n + i: the first has the lower half of the bits.
__device__ inline uint32_t draw_pair(DropoutKeys row, uint32_t pair) {
  uint32_t x = pair + row.x;
  x = (x ^ x >> 16) * kDropoutFirstFactor;
  x = (x ^ x >> 15 ^ row.y) * kDropoutSecondFactor;
  return x ^ x >> 16;
}

struct DropoutFactors {
  uint32_t threshold;  // in the upper 16 bits
  float kept;          // 1/(1 - p)

  __host__ __device__ explicit DropoutFactors(float p)
      : threshold(dropout_threshold(p) << 16), kept(1.0f / (1.0f - p)) {}

  __device__ bool keeps(uint32_t pair, bool second) const { return (second ? pair : pair << 16) >= threshold; }
  __device__ float factor(const DropoutRow& row, uint32_t key) const {
    const uint32_t pair = draw_pair(dropout_keys(row), key / 16 * 8 + key % 8);
    return keeps(pair, key % 16 >= 8) ? kept : 0.0f;
  }
};

}  // namespace quest::kernels::cuda
