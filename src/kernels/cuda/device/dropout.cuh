#pragma once

// Dropout on the device: the same bits as on the CPU.

#include <cstdint>

#include "kernels/dropout_row.h"

namespace quest::kernels::cuda {

__device__ inline uint32_t mix32(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

struct DropoutFactors {
  uint32_t threshold;  // of 24 random bits
  float kept;          // 1/(1 - p)

  __host__ __device__ explicit DropoutFactors(float p)
      : threshold(static_cast<uint32_t>(ceilf(p * 16777216.0f))), kept(1.0f / (1.0f - p)) {}

  __device__ bool keeps(uint32_t first_key, uint32_t second_key, uint32_t key) const {
    return mix32(mix32(key + first_key) ^ second_key) >> 8 >= threshold;
  }
  __device__ float factor(const DropoutRow& row, uint32_t key) const {
    return keeps(row.first_key, row.second_key, key) ? kept : 0.0f;
  }
};

}  // namespace quest::kernels::cuda
