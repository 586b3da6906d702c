#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/attention_problem.h"

namespace quest::kernels::cuda {

inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
    return reinterpret_cast<Encode>(entry);
  }();
  return encode;
}

// A [batch][heads][length][dim] tensor of a 16-bit type, read in swizzled boxes of box_rows rows and 64 columns of one
// head.
template <typename Pointer>
CUresult make_tensor_map(CUtensorMap& map, const HeadMatrix<Pointer>& matrix, StorageType type, std::int64_t batch,
                         std::int64_t heads, std::int64_t length, std::int64_t dim, int box_rows) {
  const auto encode = tensor_map_encoder();
  if (encode == nullptr) return CUDA_ERROR_NOT_FOUND;
  // A dimension of one element is never stepped along, and its stride may be anything.
  const auto stride_bytes = [](std::int64_t size, std::int64_t stride) {
    return static_cast<cuuint64_t>(size == 1 ? 16 : stride * 2);
  };
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(dim), static_cast<cuuint64_t>(length),
                              static_cast<cuuint64_t>(heads), static_cast<cuuint64_t>(batch)};
  const cuuint64_t strides[] = {stride_bytes(length, matrix.row_stride), stride_bytes(heads, matrix.head_stride),
                                stride_bytes(batch, matrix.batch_stride)};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows), 1, 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  return encode(&map,
                type == StorageType::bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
                const_cast<void*>(static_cast<const void*>(matrix.data)), sizes, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace quest::kernels::cuda
