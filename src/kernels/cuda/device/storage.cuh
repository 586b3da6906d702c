#pragma once

// One element of a storage type from and to float, for kernels in which arithmetic is not what costs.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/attention_problem.h"

namespace quest::kernels::cuda {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_float(__half x) { return __half2float(x); }

template <typename T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}

// Calls visit with a value of the type that elements are stored in.
template <typename Visit>
auto with_element(StorageType type, Visit visit) {
  switch (type) {
    case StorageType::bfloat16:
      return visit(__nv_bfloat16{});
    case StorageType::float16:
      return visit(__half{});
    default:
      return visit(float{});
  }
}

}  // namespace quest::kernels::cuda
