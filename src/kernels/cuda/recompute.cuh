#pragma once

// What the rarer passes after a forward compute anew, in plain float32 over prepared rows: a tile of logits with mask
// and order applied, and the probabilities in it.

#include <cfloat>

#include "kernels/cuda/device/numbers.cuh"
#include "kernels/cuda/device/storage.cuh"
#include "kernels/sequence.h"

namespace quest::kernels::cuda {

// 16 × 16 threads hold 4 × 4 elements each of a tile.
inline constexpr int kTileThreads = 256;
inline constexpr int kTileSide = 64;
inline constexpr int kTileDepth = 32;
inline constexpr int kPatch = 4;

using Patch = float[kPatch][kPatch];

__device__ inline int patch_row(int i) { return threadIdx.x / 16 * kPatch + i; }
__device__ inline int patch_column(int j) { return threadIdx.x % 16 * kPatch + j; }

// Up to kTileSide rows; those past the count are zero.
template <typename T>
struct TileRows {
  const T* data;
  std::int64_t stride;
  std::int64_t count;
  int dim;
};

struct TileStage {
  static constexpr int kStride = kTileSide + 4;
  alignas(16) float left[kTileDepth][kStride];
  alignas(16) float right[kTileDepth][kStride];

  template <typename T>
  __device__ static void fill(float (&side)[kTileDepth][kStride], const TileRows<T>& rows, int first) {
    const int depth = threadIdx.x % kTileDepth;
#pragma unroll 4
    for (int row = threadIdx.x / kTileDepth; row < kTileSide; row += kTileThreads / kTileDepth) {
      const bool exists = row < rows.count && first + depth < rows.dim;
      side[depth][row] = exists ? to_float(rows.data[row * rows.stride + first + depth]) : 0.0f;
    }
  }

  // products = a · bᵀ
  template <typename T>
  __device__ void multiply(const TileRows<T>& a, const TileRows<T>& b, Patch& products) {
#pragma unroll
    for (int i = 0; i < kPatch * kPatch; ++i) products[i / kPatch][i % kPatch] = 0.0f;
    for (int first = 0; first < a.dim; first += kTileDepth) {
      __syncthreads();
      fill(left, a, first);
      fill(right, b, first);
      __syncthreads();
#pragma unroll 4
      for (int depth = 0; depth < kTileDepth; ++depth) {
        const float4 x = *reinterpret_cast<const float4*>(&left[depth][patch_row(0)]);
        const float4 y = *reinterpret_cast<const float4*>(&right[depth][patch_column(0)]);
        const float rows[kPatch] = {x.x, x.y, x.z, x.w};
        const float columns[kPatch] = {y.x, y.y, y.z, y.w};
#pragma unroll
        for (int i = 0; i < kPatch; ++i) {
#pragma unroll
          for (int j = 0; j < kPatch; ++j) products[i][j] = fmaf(rows[i], columns[j], products[i][j]);
        }
      }
    }
  }

  // The sum of the columns of all patches, given those of each thread's own; for threads below kTileSide.
  __device__ float column_sum(const float (&own)[kPatch]) {
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kPatch; ++j) left[threadIdx.x / 16][patch_column(j)] = own[j];
    __syncthreads();
    if (threadIdx.x >= kTileSide) return 0.0f;
    float sum = 0.0f;
    for (int i = 0; i < 16; ++i) sum += left[i][threadIdx.x];
    return sum;
  }
};

constexpr bool is_additive(MaskType type) { return type != MaskType::none && type != MaskType::boolean; }

// A logit, in units of log 2, with the mask's element applied. Minus infinity hides the key even if its logit is NaN;
// the most negative finite number stays finite.
__device__ inline float masked_logit(float logit, std::uint8_t allowed) { return allowed != 0 ? logit : -INFINITY; }
template <typename T>
__device__ float masked_logit(float logit, T element) {
  const float bias = to_float(element);
  const float scaled = bias * kLog2E;
  return bias == -INFINITY ? bias : logit + (scaled < -FLT_MAX ? -FLT_MAX : scaled);
}

// One (sequence, head) of a prepared problem.
struct PreparedHead {
  const AttentionProblem& problem;
  Sequence sequence;
  std::int64_t head;
  std::int64_t kv_head;
  CausalLimit causal;

  __device__ PreparedHead(const AttentionProblem& p, std::int64_t s, std::int64_t h)
      : problem(p), sequence(p, s), head(h), kv_head(h / (p.heads / p.kv_heads)), causal(p.causal, sequence) {}

  __device__ std::int64_t query_row(std::int64_t row) const {
    return dense_row(sequence.batch, problem.heads, head, problem.queries, sequence.first_query + row);
  }

  template <typename T>
  __device__ TileRows<T> query_tile(const Input& m, std::int64_t dim, std::int64_t first) const {
    const std::int64_t at =
        sequence.batch * m.batch_stride + head * m.head_stride + (sequence.first_query + first) * m.row_stride;
    return {static_cast<const T*>(m.data) + at, m.row_stride, sequence.queries - first, static_cast<int>(dim)};
  }

  template <typename T>
  __device__ TileRows<T> key_tile(const Input& m, std::int64_t dim, std::int64_t first) const {
    const std::int64_t at =
        sequence.batch * m.batch_stride + kv_head * m.head_stride + (sequence.first_key + first) * m.row_stride;
    return {static_cast<const T*>(m.data) + at, m.row_stride, sequence.keys - first, static_cast<int>(dim)};
  }

  // Scores to logits in units of log 2: minus infinity where order or mask hides the key.
  __device__ void to_logits(Patch& scores, std::int64_t first_row, std::int64_t first_key) const {
    int visible[kPatch];
#pragma unroll
    for (int i = 0; i < kPatch; ++i) {
      const std::int64_t row = first_row + patch_row(i);
      const std::int64_t seen = row < sequence.queries ? causal.limit(row) - first_key : 0;
      visible[i] = static_cast<int>(min(seen, std::int64_t{kTileSide}));
#pragma unroll
      for (int j = 0; j < kPatch; ++j) {
        scores[i][j] = patch_column(j) < visible[i] ? scores[i][j] * (problem.scale * kLog2E) : -INFINITY;
      }
    }
    switch (problem.mask.type) {
      case MaskType::none:
        return;
      case MaskType::boolean:
        return apply_mask<std::uint8_t>(scores, visible, first_row, first_key);
      case MaskType::additive_float32:
        return apply_mask<float>(scores, visible, first_row, first_key);
      case MaskType::additive_bfloat16:
        return apply_mask<__nv_bfloat16>(scores, visible, first_row, first_key);
      case MaskType::additive_float16:
        return apply_mask<__half>(scores, visible, first_row, first_key);
    }
  }

  // In units of log 2; plus infinity for a row that sees no key, whose probabilities are then 0.
  __device__ float log_sum_exp(const float* lse, std::int64_t row) const {
    const float given = row < sequence.queries ? lse[query_row(row)] : -INFINITY;
    return given == -INFINITY ? INFINITY : given * kLog2E;
  }

  // 0 for a hidden key even where the row's log-sum-exp is NaN.
  __device__ float probability(float logit, float lse) const {
    if (logit == -INFINITY) return 0.0f;
    const float x = logit - lse;
    const bool above = x > 0.0f && is_additive(problem.mask.type);  // by rounding
    return x < -125.0f ? 0.0f : exp2f(above ? 0.0f : x);
  }

 private:
  template <typename T>
  __device__ void apply_mask(Patch& logits, const int (&visible)[kPatch], std::int64_t first_row,
                             std::int64_t first_key) const {
    const Mask& mask = problem.mask;
    const T* first = static_cast<const T*>(mask.data) + sequence.batch * mask.batch_stride + head * mask.head_stride +
                     first_row * mask.row_stride + first_key;
#pragma unroll
    for (int i = 0; i < kPatch; ++i) {
      const T* row = first + patch_row(i) * mask.row_stride;
#pragma unroll
      for (int j = 0; j < kPatch; ++j) {
        if (patch_column(j) < visible[i]) logits[i][j] = masked_logit(logits[i][j], row[patch_column(j)]);
      }
    }
  }
};

}  // namespace quest::kernels::cuda
