#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace quest::lab {

// Contiguous [heads, length, D] tensors; a head is one (batch, head) pair. The logits are q . k / |k|.
struct ForwardProblem {
  const __nv_bfloat16* q;
  const __nv_bfloat16* k;
  const __nv_bfloat16* v;
  __nv_bfloat16* out;
  float* lse;
  int heads;
  int length;
};

struct BackwardProblem {
  const __nv_bfloat16* grad_out;
  const __nv_bfloat16* q;
  const __nv_bfloat16* k;
  const __nv_bfloat16* v;
  const __nv_bfloat16* out;
  const float* lse;
  __nv_bfloat16* grad_q;
  __nv_bfloat16* grad_k;
  __nv_bfloat16* grad_v;
  int heads;
  int length;
};

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;

__host__ __device__ constexpr int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace quest::lab
