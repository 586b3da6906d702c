#pragma once

#include <cstdint>

#include "kernels/cuda/device/single_rows.cuh"

namespace quest::kernels::cuda::resident {

// Rows of one head in global memory.
template <typename T>
struct Rows {
  T* data;
  int stride;

  __device__ T* operator[](int row) const { return data + int64_t{row} * stride; }
};

template <int D, typename T>
__device__ HeadRows<T> single_rows(Rows<T> rows) {
  return {rows.data, rows.stride, D};
}

struct HeadIndex {
  int batch;
  int head;
  int dense;  // among all heads of the batch
};

// [batch][heads][length][D], the last dimension dense.
template <typename T>
struct Heads {
  T* data;
  int64_t batch_stride;
  int64_t head_stride;
  int row_stride;

  __device__ Rows<T> operator[](HeadIndex i) const {
    return {data + i.batch * batch_stride + i.head * head_stride, row_stride};
  }
};

// The logits are scale q . k / |k|. Unit keys are kept times key_factor = scale log2(e), so that scores come out ready
// for exp2.
struct HeadShape {
  int batch;
  int heads;
  int length;
  bool causal;
  float scale;
  float key_factor;
  float projection;  // 1 / key_factor^2

  __host__ __device__ int head_count() const { return batch * heads; }
  __device__ HeadIndex head(int index) const { return {index / heads, index % heads, index}; }
  // Keys [0, visible_keys) are those that the query sees.
  __device__ int visible_keys(int query) const { return causal ? min(query + 1, length) : length; }
};

template <typename T>
struct ForwardProblem {
  HeadShape shape;
  Heads<const T> q;
  Heads<const T> k;
  Heads<const T> v;
  Heads<T> out;
  float* lse;
};

template <typename T>
struct BackwardProblem {
  HeadShape shape;
  int neighbours;  // heads whose blocks of one kind are numbered before those of the other kind
  Heads<const T> grad_out;
  Heads<const T> q;
  Heads<const T> k;
  Heads<const T> v;
  Heads<const T> out;
  const float* lse;
  Heads<T> grad_q;
  Heads<T> grad_k;
  Heads<T> grad_v;

  template <int D>
  __device__ SingleGradients<T> single_gradients(HeadIndex head) const {
    return {{single_rows<D>(q[head]), single_rows<D>(k[head]), single_rows<D>(v[head]), shape.length, shape.scale},
            single_rows<D>(out[head]),
            single_rows<D>(grad_out[head]),
            lse + int64_t{head.dense} * shape.length};
  }
};

}  // namespace quest::kernels::cuda::resident
