#pragma once

// From a warp's accumulators to rows in memory.

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/fragments.cuh"
#include "kernels/cuda/portable/parameters.h"

namespace quest::kernels::cuda::portable {

template <typename T>
struct OutputRows {
  T* data;
  int64_t stride;
  int dim;
  bool aligned;

  __device__ OutputRows(const Matrix& m, int64_t batch, int64_t head, int64_t first_row)
      : data(static_cast<T*>(m.data) + batch * m.batch_stride + head * m.head_stride + first_row * m.row_stride),
        stride(m.row_stride),
        dim(m.dim),
        aligned(m.aligned) {}
};

// Rows [first, first + 16), those before `end`.
template <typename T, int kBlocks>
__device__ void store_rows(const Accumulator (&rows)[kBlocks], const OutputRows<T>& to, int first, int end) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + lane_row() + half * 8;
    T* data = to.data + row * to.stride;
    if (to.aligned && sizeof(T) == 2 && kBlocks % 4 == 0) {
#pragma unroll
      for (int group = 0; group < kBlocks / 4; ++group) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* pair = rows[group * 4 + i].x + half * 2;
          if constexpr (sizeof(T) == 2) words[i] = Element<T>::pack(pair[0], pair[1]);
        }
        transpose_quad(words);
        const int column = group * 32 + lane_id() % 4 * 8;
        if (row < end && column < to.dim) store_global(data + column, words);
      }
    } else {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const float* pair = rows[block].x + half * 2;
        const int column = block * 8 + lane_column();
        if (row >= end) continue;
        if (to.aligned) {
          if (column >= to.dim) continue;
          if constexpr (sizeof(T) == 2) {
            *reinterpret_cast<uint32_t*>(data + column) = Element<T>::pack(pair[0], pair[1]);
          } else {
            *reinterpret_cast<float2*>(data + column) = {pair[0], pair[1]};
          }
        } else {
          if (column < to.dim) data[column] = static_cast<T>(pair[0]);
          if (column + 1 < to.dim) data[column + 1] = static_cast<T>(pair[1]);
        }
      }
    }
  }
}

template <int kBlocks>
__device__ void scale_rows(Accumulator (&rows)[kBlocks], float upper, float lower) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) rows[block].x[i] *= i < 2 ? upper : lower;
  }
}

template <int kBlocks>
__device__ void scale_rows(Accumulator (&rows)[kBlocks], const float* factors) {
  scale_rows(rows, factors[lane_row()], factors[lane_row() + 8]);
}

template <int kBlocks>
__device__ void scale_columns(Accumulator (&rows)[kBlocks], const float* factors) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const float2 pair = *reinterpret_cast<const float2*>(factors + block * 8 + lane_column());
#pragma unroll
    for (int i = 0; i < 4; ++i) rows[block].x[i] *= i % 2 == 0 ? pair.x : pair.y;
  }
}

}  // namespace quest::kernels::cuda::portable
