#pragma once

// Packed rows that belong to no sequence, before the first or after the last: zero, with a log-sum-exp of -inf.

#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/portable/parameters.h"

namespace quest::kernels::cuda::portable {

struct ClearParameters {
  Matrix rows;
  float* lse;  // or null
  const std::int64_t* cu_seqlens;
  std::int64_t batch;
  std::int64_t row_count;
};

template <typename T>
static __global__ void clear_rows_kernel(ClearParameters p) {
  const auto inside = [&](std::int64_t row) { return row < 0 ? 0 : row > p.row_count ? p.row_count : row; };
  const std::int64_t first = inside(p.cu_seqlens[0]);
  const std::int64_t last = inside(p.cu_seqlens[p.batch]);
  T* head = static_cast<T*>(p.rows.data) + blockIdx.x * p.rows.head_stride;
  for (std::int64_t i = 0; i < first + p.row_count - last; ++i) {
    const std::int64_t row = i < first ? i : last + i - first;
    for (int column = threadIdx.x; column < p.rows.dim; column += blockDim.x) {
      head[row * p.rows.row_stride + column] = T(0.0f);
    }
    if (p.lse != nullptr && threadIdx.x == 0) p.lse[blockIdx.x * p.row_count + row] = -INFINITY;
  }
}

inline cudaError_t clear_rows_of_no_sequence(const AttentionProblem& p, const std::int64_t* cu_seqlens,
                                             std::int64_t row_count, std::int64_t heads, const Matrix& rows, float* lse,
                                             cudaStream_t stream) {
  if (cu_seqlens == nullptr) return cudaSuccess;
  const auto kernel = p.type == StorageType::float32 ? clear_rows_kernel<float> : clear_rows_kernel<__half>;
  return launch_kernel(kernel, heads, 128, 0, stream, ClearParameters{rows, lse, cu_seqlens, p.batch, row_count});
}

}  // namespace quest::kernels::cuda::portable
