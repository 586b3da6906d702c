#pragma once

// What differs between the two 16-bit types: how a pair is packed and unpacked, and what instructions call it.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace quest::kernels::cuda {

template <typename T>
struct Element;

template <>
struct Element<__nv_bfloat16> {
  static constexpr char kName[] = ".bf16";
  static constexpr uint32_t kOnes = 0x3f803f80;

  __device__ static uint32_t pack(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
  }
  __device__ static float low(uint32_t packed) { return __uint_as_float(packed << 16); }
  __device__ static float high(uint32_t packed) { return __uint_as_float(packed & 0xffff0000u); }
};

template <>
struct Element<__half> {
  static constexpr char kName[] = ".f16";
  static constexpr uint32_t kOnes = 0x3c003c00;

  __device__ static uint32_t pack(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
  }
  __device__ static float low(uint32_t packed) { return __half2float(__ushort_as_half(packed & 0xffff)); }
  __device__ static float high(uint32_t packed) { return __half2float(__ushort_as_half(packed >> 16)); }
};

}  // namespace quest::kernels::cuda
