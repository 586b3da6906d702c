#pragma once

// Single rows of causal attention in plain float arithmetic, a warp each. Tensor cores multiply whole tiles, and a
// weight of zero times a hidden number that is not finite is NaN: a row that came out so is computed again here, from
// what it sees alone.

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/device/fragments.cuh"
#include "kernels/cuda/device/storage.cuh"

namespace quest::kernels::cuda {

// Element i of a lane is element lane + 32 i of the row.
struct SingleRow {
  static constexpr int kPerLane = 4;
  float x[kPerLane] = {};

  __device__ void add(float factor, const SingleRow& row) {
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) x[i] = fmaf(factor, row.x[i], x[i]);
  }
  // For the whole row, in every lane.
  __device__ bool is_finite() const {
    float probe = 0;
#pragma unroll
    for (const float value : x) probe = fmaf(value, 0, probe);
    return __all_sync(0xffffffffu, probe == 0);
  }
  __device__ void scale(float factor) {
#pragma unroll
    for (float& value : x) value *= factor;
  }
};

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

__device__ inline float dot(const SingleRow& a, const SingleRow& b) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < SingleRow::kPerLane; ++i) sum = fmaf(a.x[i], b.x[i], sum);
  return warp_sum(sum);
}

// The rows of one head, in memory.
template <typename T>
struct HeadRows {
  T* data = nullptr;
  std::int64_t stride = 0;
  int dim = 0;

  __device__ SingleRow operator[](int row) const {
    SingleRow values;
#pragma unroll
    for (int i = 0; i < SingleRow::kPerLane; ++i) {
      const int column = lane_id() + 32 * i;
      if (column < dim) values.x[i] = to_float(data[row * stride + column]);
    }
    return values;
  }

  __device__ void store(int row, const SingleRow& values) const {
#pragma unroll
    for (int i = 0; i < SingleRow::kPerLane; ++i) {
      const int column = lane_id() + 32 * i;
      if (column < dim) data[row * stride + column] = from_float<T>(values.x[i]);
    }
  }
};

template <typename T, typename Pointer>
__device__ HeadRows<T> rows_of(const HeadMatrix<Pointer>& matrix, int batch, int head, int dim) {
  return {static_cast<T*>(matrix.data) + batch * matrix.batch_stride + head * matrix.head_stride, matrix.row_stride,
          dim};
}

struct UnitKey {
  SingleRow row;
  float reciprocal;  // 1 / |k|

  __device__ explicit UnitKey(const SingleRow& key) : row(key) {
    float largest = 0;
#pragma unroll
    for (float x : key.x) largest = fmaxf(largest, fabsf(x));
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    }
    const float near_one = 1 / fminf(fmaxf(largest, FLT_MIN), FLT_MAX / 2);
    row.scale(near_one);
    const float squares = dot(row, row);
    const float length = squares == 0 ? 0 : 1 / sqrtf(squares);
    row.scale(length);
    reciprocal = fminf(length * near_one, FLT_MAX);
  }

  template <typename T>
  __device__ void round() {
#pragma unroll
    for (float& x : row.x) x = to_float(from_float<T>(x));
  }
};

// Queries that share a head of keys and values; a query sees the keys up to its own place.
template <typename T>
struct SingleRows {
  HeadRows<const T> q;
  HeadRows<const T> k;
  HeadRows<const T> v;
  int keys;
  float scale;

  __device__ int visible(int query) const { return min(query + 1, keys); }

  __device__ SingleRow output(int query) const {
    const SingleRow q_row = q[query];
    SingleRow sum;
    float largest = -INFINITY;
    float total = 0;
    for (int key = 0; key < visible(query); ++key) {
      const float score = dot(q_row, UnitKey(k[key]).row) * scale;
      const float shrink = score > largest ? expf(largest - score) : 1;
      largest = fmaxf(largest, score);
      const float weight = expf(score - largest);
      sum.scale(shrink);
      sum.add(weight, v[key]);
      total = total * shrink + weight;
    }
    sum.scale(1 / total);
    return sum;
  }
};

template <typename T>
struct SingleGradients {
  SingleRows<T> rows;
  HeadRows<const T> out;
  HeadRows<const T> grad_out;
  const float* lse;

  // Of a query: its row, that of its output's gradient, and grad_out . out.
  struct Query {
    int index;
    SingleRow row;
    SingleRow grad;
    float delta;
  };

  __device__ Query query(int index) const {
    const SingleRow grad = grad_out[index];
    return {index, rows.q[index], grad, dot(grad, out[index])};
  }

  struct Pair {
    float weight;
    float score_gradient;
  };

  __device__ Pair pair(const Query& query, const UnitKey& key, const SingleRow& value) const {
    const float weight = expf(dot(query.row, key.row) * rows.scale - lse[query.index]);
    return {weight, weight * (dot(query.grad, value) - query.delta)};
  }

  // rounds_keys: as the log-sum-exp and the gradients beside this one were formed.
  __device__ SingleRow query_gradient(int index, bool rounds_keys) const {
    const Query q = query(index);
    SingleRow sum;
    for (int key = 0; key < rows.visible(index); ++key) {
      UnitKey unit(rows.k[key]);
      if (rounds_keys) unit.round<T>();
      sum.add(pair(q, unit, rows.v[key]).score_gradient, unit.row);
    }
    sum.scale(rows.scale);
    return sum;
  }

  // Adds what the queries of this head give to the gradients of a unit key and of its value.
  __device__ void add_to_key(int index, int queries, SingleRow& key_sum, SingleRow& value_sum) const {
    const UnitKey unit(rows.k[index]);
    const SingleRow value = rows.v[index];
    for (int i = index; i < queries; ++i) {
      const Query q = query(i);
      const Pair p = pair(q, unit, value);
      key_sum.add(p.score_gradient, q.row);
      value_sum.add(p.weight, q.grad);
    }
  }
};

// From the gradient of a unit key to that of the key as given, whose length is 1 / reciprocal.
__device__ inline SingleRow projected(SingleRow gradient, const UnitKey& key, float reciprocal, float scale) {
  gradient.add(-dot(gradient, key.row), key.row);
  gradient.scale(scale * reciprocal);
  return gradient;
}

// Whether what this lane holds of a warp's rows has something that is not finite.
template <int kBlocks>
__device__ bool is_spoiled(const Accumulator (&rows)[kBlocks]) {
  float probe[2] = {};  // stays zero
#pragma unroll
  for (const Accumulator& block : rows) {
#pragma unroll
    for (int i = 0; i < 4; ++i) probe[i % 2] = fmaf(block.x[i], 0, probe[i % 2]);
  }
  return probe[0] + probe[1] != 0;
}

// Which of a warp's sixteen rows are spoiled, as bits; the same in all lanes.
template <int kBlocks>
__device__ uint32_t spoiled_rows(const Accumulator (&rows)[kBlocks]) {
  float probe[2][2] = {};
#pragma unroll
  for (const Accumulator& block : rows) {
#pragma unroll
    for (int i = 0; i < 4; ++i) probe[i / 2][i % 2] = fmaf(block.x[i], 0, probe[i / 2][i % 2]);
  }
  const bool spoiled[2] = {probe[0][0] + probe[0][1] != 0, probe[1][0] + probe[1][1] != 0};
  uint32_t found = 0;
  if (!__any_sync(0xffffffffu, spoiled[0] || spoiled[1])) return found;
  for (int half = 0; half < 2; ++half) {
    const uint32_t lanes = __ballot_sync(0xffffffffu, spoiled[half]);
    for (int row = 0; row < 8; ++row) found |= (lanes >> 4 * row & 15) != 0 ? 1u << (8 * half + row) : 0;
  }
  return found;
}

// Calls visit(row) for every set bit.
template <typename Visit>
__device__ void for_each_bit(uint32_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(__ffs(bits) - 1);
}

// What the backward of a causal problem was given, for all heads.
struct CausalGradients {
  Input q;
  Input k;
  Input v;
  Input out;
  Input grad_out;
  const float* lse;  // [B, H, Nq]
  int heads;
  int heads_per_key_head;
  int queries;
  int keys;
  int dim;
  int value_dim;
  float scale;

  template <typename T>
  __device__ SingleGradients<T> of_head(int batch, int head) const {
    const int key_head = head / heads_per_key_head;
    return {{rows_of<const T>(q, batch, head, dim), rows_of<const T>(k, batch, key_head, dim),
             rows_of<const T>(v, batch, key_head, value_dim), keys, scale},
            rows_of<const T>(out, batch, head, value_dim),
            rows_of<const T>(grad_out, batch, head, value_dim),
            lse + (std::int64_t{batch} * heads + head) * queries};
  }
};

}  // namespace quest::kernels::cuda
