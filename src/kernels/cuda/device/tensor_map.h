#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace quest::kernels::cuda {

// A [heads][length][64] bfloat16 tensor read or written in boxes of box_rows rows of one head.
inline CUresult make_tensor_map(CUtensorMap& map, const void* data, int heads, int length, int box_rows) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
    return reinterpret_cast<Encode>(entry);
  }();
  if (encode == nullptr) return CUDA_ERROR_NOT_FOUND;
  const cuuint64_t sizes[] = {64, static_cast<cuuint64_t>(length), static_cast<cuuint64_t>(heads)};
  const cuuint64_t strides[] = {128, static_cast<cuuint64_t>(length) * 128};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows), 1};
  const cuuint32_t steps[] = {1, 1, 1};
  return encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(data), sizes, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace quest::kernels::cuda
