#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace quest::kernels::cuda {

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

}  // namespace quest::kernels::cuda
