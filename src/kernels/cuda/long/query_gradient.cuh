#pragma once

// grad_q is summed over blocks that own keys, in whatever order they run. Sums of integers do not depend on the order,
// so the blocks add fixed-point numbers. Unit keys bound a row of the gradient before it is known,
//   |grad_q[d]| / scale <= sum_j p_j |grad_out . v_j - delta| <= |grad_out| max_j |v_j| + |delta|,
// which gives each row the power of two that makes the best use of 32 bits.

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/attention_problem.h"
#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/fixed_point.cuh"
#include "kernels/cuda/device/fragments.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/single_rows.cuh"

namespace quest::kernels::cuda::long_sequence {

// Rows of up to kDim elements; a block owns kKeys keys and takes kQueries queries at a time.
template <int kWidth>
struct BackwardTile {
  static constexpr int kDim = kWidth;
  static constexpr int kKeys = 128;
  static constexpr int kQueries = kWidth == 64 ? 128 : 64;
};

// What a tile of queries is accompanied by, in the order of one copy.
template <int kQueries>
struct QueryRows {
  float lse[kQueries];  // times log2 e; infinite where no key is seen
  float delta[kQueries];
  float factor[kQueries];  // to fixed point; NaN where the gradient is
  int tile[4];             // the first one: which tile this is, of those of all heads
};

// A tile of fixed-point gradients lies in memory as the warps hold it: each warp's 16 x 64 part is eight chunks of four
// numbers a lane. Chunk 4 h + p of a lane holds row h of its two rows and columns 16 p + {0, 1, 8, 9} + lane_column().
struct PartOfTile {
  static constexpr int kNumbers = 16 * 64;
  int first_row;
  int first_column;
};

template <typename Tile>
__device__ PartOfTile part_of_tile(int warp) {
  if constexpr (Tile::kDim == 64) return {warp * 16, 0};
  return {warp % 4 * 16, warp / 4 * 64};
}

constexpr int kRowThreads = 256;

__device__ inline const uint4* chunk_of_row(const Input& x, int batch, int head, int row, int chunk) {
  const auto* data = static_cast<const uint16_t*>(x.data);
  return reinterpret_cast<const uint4*>(data + batch * x.batch_stride + head * x.head_stride + row * x.row_stride) +
         chunk;
}

template <typename T>
__device__ void unpack(float (&x)[8], uint4 packed) {
  const uint32_t words[] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = Element<T>::low(words[i]);
    x[2 * i + 1] = Element<T>::high(words[i]);
  }
}

// The length of the vector that kLanes lanes hold, without overflow or underflow on the way.
template <int kLanes>
__device__ float length_over(const float (&x)[8]) {
  float largest = 0;
#pragma unroll
  for (float value : x) largest = fmaxf(largest, fabsf(value));
  const float shrink = shrink_to_one(largest_over<kLanes>(largest));
  float sum = 0;
#pragma unroll
  for (float value : x) sum = fmaf(value * shrink, value * shrink, sum);
  return sqrtf(sum_over<kLanes>(sum)) / shrink;
}

struct ValueRows {
  Input v;
  int keys;
  int value_dim;
  float* largest;  // [B, Hk, key tiles]
};

// The largest |v| of a tile of keys. Rows that are not finite are left out: queries that see them have no finite delta.
template <typename T, typename Tile>
__global__ void __launch_bounds__(kRowThreads) measure_values(const ValueRows p) {
  let_next_start();
  constexpr int kLanes = Tile::kDim / 8;
  constexpr int kPasses = Tile::kKeys * kLanes / kRowThreads;
  const int lane = threadIdx.x % kLanes;
  uint4 packed[kPasses] = {};
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int row = blockIdx.x * Tile::kKeys + (pass * kRowThreads + threadIdx.x) / kLanes;
    if (row < p.keys && lane < p.value_dim / 8) packed[pass] = *chunk_of_row(p.v, blockIdx.z, blockIdx.y, row, lane);
  }
  float largest = 0;
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    float x[8];
    unpack<T>(x, packed[pass]);
    const float length = length_over<kLanes>(x);
    if (length <= FLT_MAX) largest = fmaxf(largest, length);
  }
  __shared__ float of_warp[kRowThreads / 32];
  largest = largest_over<32>(largest);
  if (lane_id() == 0) of_warp[warp_id()] = largest;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  largest = largest_over<32>(lane_id() < kRowThreads / 32 ? of_warp[lane_id()] : 0.0F);
  if (lane_id() == 0) p.largest[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = largest;
}

struct GradientRows {
  Input out;
  Input grad_out;
  const float* lse;            // [B, H, Nq]
  const float* largest_value;  // [B, Hk, key tiles]
  float* rows;                 // QueryRows [B, H, query tiles]
  int32_t* sums;               // [B, H, query tiles][queries][dim], cleared here
  int queries;
  int value_dim;
  int key_tiles;
  int heads_per_key_head;
  bool causal;
};

template <typename T, typename Tile>
__global__ void __launch_bounds__(kRowThreads) measure_queries(const GradientRows p) {
  let_next_start();
  constexpr int kLanes = Tile::kDim / 8;
  constexpr int kPasses = Tile::kQueries * kLanes / kRowThreads;
  constexpr int kRowsOfPass = kRowThreads / kLanes;
  const int head = blockIdx.y;
  const int lane = threadIdx.x % kLanes;
  const int first_row = blockIdx.x * Tile::kQueries;
  const int64_t tile = (int64_t{blockIdx.z} * gridDim.y + head) * gridDim.x + blockIdx.x;

  uint4 out[kPasses] = {};
  uint4 grad_out[kPasses] = {};
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int row = first_row + pass * kRowsOfPass + threadIdx.x / kLanes;
    if (row >= p.queries || lane >= p.value_dim / 8) continue;
    out[pass] = *chunk_of_row(p.out, blockIdx.z, head, row, lane);
    grad_out[pass] = *chunk_of_row(p.grad_out, blockIdx.z, head, row, lane);
  }

  auto* sums = reinterpret_cast<uint4*>(p.sums + tile * Tile::kQueries * Tile::kDim);
#pragma unroll
  for (int i = 0; i < Tile::kQueries * Tile::kDim / 4 / kRowThreads; ++i) sums[i * kRowThreads + threadIdx.x] = {};

  wait_for_previous();
  const int key_head = head / p.heads_per_key_head;
  const int last_row = min(first_row + Tile::kQueries, p.queries) - 1;
  const int tiles_seen = p.causal ? min(last_row / Tile::kKeys + 1, p.key_tiles) : p.key_tiles;
  const float* of_tile =
      p.largest_value + (int64_t{blockIdx.z} * (gridDim.y / p.heads_per_key_head) + key_head) * p.key_tiles;
  float largest_value = 0;
  for (int i = lane_id(); i < tiles_seen; i += 32) largest_value = fmaxf(largest_value, of_tile[i]);
  largest_value = largest_over<32>(largest_value);

  auto& rows = reinterpret_cast<QueryRows<Tile::kQueries>*>(p.rows)[tile];
  if (threadIdx.x == 0) rows.tile[0] = static_cast<int>(tile);
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    float o[8];
    float g[8];
    unpack<T>(o, out[pass]);
    unpack<T>(g, grad_out[pass]);
    float delta = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) delta = fmaf(o[i], g[i], delta);
    delta = sum_over<kLanes>(delta);
    const float bound = length_over<kLanes>(g) * largest_value + fabsf(delta);
    if (lane != 0) continue;
    const int row_of_tile = pass * kRowsOfPass + threadIdx.x / kLanes;
    const int row = first_row + row_of_tile;
    const float lse = row < p.queries ? p.lse[tile / gridDim.x * p.queries + row] : -INFINITY;
    const bool defined = bound <= FLT_MAX && lse <= FLT_MAX;
    rows.lse[row_of_tile] = lse == -INFINITY ? INFINITY : lse * kLog2E;
    rows.delta[row_of_tile] = delta;
    rows.factor[row_of_tile] = defined ? fixed_point_factor(bound) : NAN;
  }
}

struct QueryGradient {
  Output grad_q;
  const float* rows;
  const int32_t* sums;
  int queries;
  int dim;
  float scale;
  bool causal;
  const float* key_reciprocals;  // NaN where the key is not finite
  CausalGradients given;
};

// A hidden key that is not finite spoils what its tile gave to a query, and integers do not show it.
template <typename T, typename Tile>
__device__ void mend_queries(const QueryGradient& p) {
  __shared__ int last_spoiled;
  const int first_key = blockIdx.x * Tile::kQueries / Tile::kKeys * Tile::kKeys;
  const int key = first_key + threadIdx.x;
  const int key_heads = gridDim.y / p.given.heads_per_key_head;
  const int key_head = blockIdx.y / p.given.heads_per_key_head;
  const bool spoils = threadIdx.x < Tile::kKeys && key < p.given.keys &&
                      isnan(p.key_reciprocals[(int64_t{blockIdx.z} * key_heads + key_head) * p.given.keys + key]);
  if (threadIdx.x == 0) last_spoiled = -1;
  if (!__syncthreads_or(spoils)) return;
  if (spoils) atomicMax(&last_spoiled, key);
  __syncthreads();
  const auto head = p.given.of_head<T>(blockIdx.z, blockIdx.y);
  const auto grad_q = rows_of<T>(p.grad_q, blockIdx.z, blockIdx.y, p.dim);
  const int first_query = blockIdx.x * Tile::kQueries;
  const int end = min(min(first_query + Tile::kQueries, p.queries), last_spoiled);
  for (int query = first_query + warp_id(); query < end; query += kRowThreads / 32)
    grad_q.store(query, head.query_gradient(query, true));
}

template <typename T, typename Tile>
__global__ void __launch_bounds__(kRowThreads) finish_queries(const QueryGradient p) {
  static_assert(kRowThreads / 32 * PartOfTile::kNumbers == Tile::kQueries * Tile::kDim);
  const int64_t tile = (int64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  wait_for_previous();
  const auto* chunks = reinterpret_cast<const int4*>(p.sums + tile * Tile::kQueries * Tile::kDim) +
                       warp_id() * (PartOfTile::kNumbers / 4) + lane_id();
  int4 sums[2][4];
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i / 4][i % 4] = chunks[i * 32];

  const PartOfTile part = part_of_tile<Tile>(warp_id());
  const auto& rows = reinterpret_cast<const QueryRows<Tile::kQueries>*>(p.rows)[tile];
  auto* grad_q =
      static_cast<T*>(p.grad_q.data) + blockIdx.z * p.grad_q.batch_stride + blockIdx.y * p.grad_q.head_stride;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row_of_tile = part.first_row + half * 8 + lane_row();
    const int row = blockIdx.x * Tile::kQueries + row_of_tile;
    const float unit = p.scale / rows.factor[row_of_tile];
#pragma unroll
    for (int quarter = 0; quarter < 2; ++quarter) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int4 x = sums[half][2 * quarter + i];
        words[2 * i] = Element<T>::pack(x.x * unit, x.y * unit);
        words[2 * i + 1] = Element<T>::pack(x.z * unit, x.w * unit);
      }
      transpose_quad(words);
      const int column = part.first_column + quarter * 32 + lane_id() % 4 * 8;
      if (row < p.queries && column < p.dim) store_global(grad_q + row * p.grad_q.row_stride + column, words);
    }
  }
  if (p.causal) mend_queries<T, Tile>(p);
}

}  // namespace quest::kernels::cuda::long_sequence
