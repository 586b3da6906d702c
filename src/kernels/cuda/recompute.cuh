#pragma once

// What the rarer passes after a forward compute anew over prepared rows: a tile of logits with mask and order applied,
// and the probabilities in it.

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/device/storage.cuh"
#include "kernels/cuda/device/tile.cuh"
#include "kernels/cuda/prepare.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda {

inline constexpr int kTileThreads = 256;
inline constexpr int kTileSide = 64;

// The part of a tile that one thread holds, in the layout of accumulators: four warps share the rows, two the columns.
inline constexpr int kPatchRows = 2;
inline constexpr int kPatchColumns = 8;
using Patch = float[kPatchRows][kPatchColumns];

__device__ inline int patch_row(int i) { return warp_id() % 4 * 16 + lane_row() + 8 * i; }
__device__ inline int patch_column(int j) { return warp_id() / 4 * 32 + j / 2 * 8 + lane_column() + j % 2; }

// Up to kTileSide rows; those past the count are zero.
template <typename T>
struct TileRows {
  const T* data;
  std::int64_t stride;
  std::int64_t count;
  int dim;

  __device__ bool in_chunks() const {
    return (reinterpret_cast<std::uintptr_t>(data) | stride * sizeof(T) | dim * sizeof(T)) % 16 == 0;
  }
};

// Shared memory through which a block multiplies tiles and adds up what its threads hold.
class TileStage {
 public:
  // products = a · bᵀ, on tensor cores where the type allows.
  template <typename T>
  __device__ void multiply(const TileRows<T>& a, const TileRows<T>& b, Patch& products) {
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) products[0][j] = products[1][j] = 0.0f;
    constexpr int kDepth = std::is_same_v<T, float> ? kFloatDepth : Operand::kDim;
    for (int first = 0; first < a.dim; first += kDepth) {
      __syncthreads();
      fill(left_, a, first);
      fill(right_, b, first);
      __syncthreads();
      multiply_stage<T>(min(a.dim - first, kDepth), products);
    }
  }

  // Combines what the threads hold of each row; the result is for those that hold column 0.
  template <typename Combine>
  __device__ void reduce_rows(float (&values)[kPatchRows], Combine combine) {
    auto* shared = reinterpret_cast<float*>(left_);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPatchRows; ++i) {
      values[i] = combine(values[i], __shfl_xor_sync(0xffffffffu, values[i], 1));
      values[i] = combine(values[i], __shfl_xor_sync(0xffffffffu, values[i], 2));
      if (patch_column(0) == kTileSide / 2) shared[patch_row(i)] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPatchRows; ++i) values[i] = combine(values[i], shared[patch_row(i)]);
  }

  // The sum of a column, given what each thread holds of its own: for threads below kTileSide.
  __device__ float column_sum(float (&own)[kPatchColumns]) {
    auto* shared = reinterpret_cast<float*>(left_);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) {
      for (int distance = 4; distance < 32; distance *= 2) own[j] += __shfl_xor_sync(0xffffffffu, own[j], distance);
      if (lane_row() == 0) shared[warp_id() % 4 * kTileSide + patch_column(j)] = own[j];
    }
    __syncthreads();
    if (threadIdx.x >= kTileSide) return 0.0f;
    const float* column = shared + threadIdx.x;
    return (column[0] + column[kTileSide]) + (column[2 * kTileSide] + column[3 * kTileSide]);
  }

 private:
  using Operand = Tile<64, kTileSide>;
  static constexpr int kFloatDepth = 32;
  static constexpr int kFloatStride = kTileSide + 4;
  static constexpr int kBytes = std::max(Operand::kBytes, kFloatDepth* kFloatStride * 4);

  alignas(128) unsigned char left_[kBytes];
  alignas(128) unsigned char right_[kBytes];

  __device__ static void fill(unsigned char* side, const TileRows<float>& rows, int first) {
    const int depth = threadIdx.x % kFloatDepth;
#pragma unroll 4
    for (int row = threadIdx.x / kFloatDepth; row < kTileSide; row += kTileThreads / kFloatDepth) {
      const bool exists = row < rows.count && first + depth < rows.dim;
      reinterpret_cast<float*>(side)[depth * kFloatStride + row] =
          exists ? rows.data[row * rows.stride + first + depth] : 0.0f;
    }
  }

  template <typename T>
  __device__ static void fill(unsigned char* side, const TileRows<T>& rows, int first) {
    constexpr Operand kOffsets{0};
    if (rows.in_chunks()) {
      // Eight lanes store two rows by four chunks.
      const int chunk = threadIdx.x % 4 + threadIdx.x / 8 % 2 * 4;
#pragma unroll
      for (int row = threadIdx.x / 16 * 2 + threadIdx.x / 4 % 2; row < kTileSide; row += kTileSide / 2) {
        const bool exists = row < rows.count && first + chunk * 8 < rows.dim;
        const auto* from = reinterpret_cast<const uint4*>(rows.data + row * rows.stride + first + chunk * 8);
        *reinterpret_cast<uint4*>(side + kOffsets.chunk_address(row, chunk)) = exists ? *from : uint4{0, 0, 0, 0};
      }
    } else {
      const int depth = threadIdx.x % Operand::kDim;
#pragma unroll 2
      for (int row = threadIdx.x / Operand::kDim; row < kTileSide; row += kTileThreads / Operand::kDim) {
        const bool exists = row < rows.count && first + depth < rows.dim;
        reinterpret_cast<T*>(side + kOffsets.chunk_address(row, depth / 8))[depth % 8] =
            exists ? rows.data[row * rows.stride + first + depth] : from_float<T>(0.0f);
      }
    }
  }

  template <typename T>
  __device__ void multiply_stage(int depth, Patch& products) const {
    if constexpr (std::is_same_v<T, float>) {
      const auto* left = reinterpret_cast<const float*>(left_);
      const auto* right = reinterpret_cast<const float*>(right_);
#pragma unroll 4
      for (int d = 0; d < depth; ++d) {
#pragma unroll
        for (int j = 0; j < kPatchColumns; j += 2) {
          const float2 pair = *reinterpret_cast<const float2*>(right + d * kFloatStride + patch_column(j));
#pragma unroll
          for (int i = 0; i < kPatchRows; ++i) {
            const float x = left[d * kFloatStride + patch_row(i)];
            products[i][j] = fmaf(x, pair.x, products[i][j]);
            products[i][j + 1] = fmaf(x, pair.y, products[i][j + 1]);
          }
        }
      }
    } else {
      const Operand rows{static_cast<uint32_t>(__cvta_generic_to_shared(left_))};
      const Operand columns{static_cast<uint32_t>(__cvta_generic_to_shared(right_))};
      Accumulator sums[kPatchColumns / 2];
#pragma unroll
      for (int j = 0; j < kPatchColumns; ++j) {
        for (int i = 0; i < kPatchRows; ++i) sums[j / 2].x[2 * i + j % 2] = products[i][j];
      }
      for (int block = 0; 16 * block < depth; ++block) {
        const Fragment a = load_matrix(rows_first(rows, patch_row(0) - lane_row(), block));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Fragment b = load_matrix(depth_first(columns, warp_id() / 4 * 32 + 16 * half, block));
          multiply_add<T>(sums[2 * half], a, b.x[0], b.x[1]);
          multiply_add<T>(sums[2 * half + 1], a, b.x[2], b.x[3]);
        }
      }
#pragma unroll
      for (int j = 0; j < kPatchColumns; ++j) {
        for (int i = 0; i < kPatchRows; ++i) products[i][j] = sums[j / 2].x[2 * i + j % 2];
      }
    }
  }
};

// The units of logits: of log 2, but natural ones beside an additive mask, where no finite element is too large.
constexpr float units_per_nat(MaskType type) { return is_additive(type) ? 1.0f : kLog2E; }
constexpr float nats_per_unit(MaskType type) { return is_additive(type) ? 1.0f : kLn2; }

struct LogSumExp {
  float high;  // in those units; plus infinity for a row that sees no key, whose probabilities are then 0
  float low;   // what rounding took from it where the mask is additive
};

// A logit with the mask's element applied. Minus infinity hides the key even if its logit is NaN.
__device__ inline float masked_logit(float logit, std::uint8_t allowed) { return allowed != 0 ? logit : -INFINITY; }
template <typename T>
__device__ float masked_logit(float logit, T element) {
  const float bias = to_float(element);
  return bias == -INFINITY ? bias : logit + bias;
}

// One (sequence, head) of a prepared problem.
struct PreparedHead {
  const AttentionProblem& problem;
  Sequence sequence;
  std::int64_t head;
  std::int64_t kv_head;
  CausalLimit causal;
  const float* query_factors = nullptr;  // of this head, or null
  const float* key_factors = nullptr;

  __device__ PreparedHead(const RemainingProblem& prepared, std::int64_t s, std::int64_t h)
      : problem(prepared.problem),
        sequence(problem, s),
        head(h),
        kv_head(h / (problem.heads / problem.kv_heads)),
        causal(problem.causal, sequence) {
    if (prepared.query_factors != nullptr) query_factors = prepared.query_factors + query_row(0);
    if (prepared.key_factors == nullptr) return;
    key_factors =
        prepared.key_factors + dense_row(sequence.batch, problem.kv_heads, kv_head, problem.keys, sequence.first_key);
  }

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

  // Scores to logits in units_per_nat: minus infinity where order or mask hides the key.
  __device__ void to_logits(Patch& scores, std::int64_t first_row, std::int64_t first_key) const {
    int visible[kPatchRows];
    float row_factors[kPatchRows];
#pragma unroll
    for (int i = 0; i < kPatchRows; ++i) {
      const std::int64_t row = first_row + patch_row(i);
      const bool factored = query_factors != nullptr && row < sequence.queries;
      row_factors[i] = problem.scale * units_per_nat(problem.mask.type) * (factored ? query_factors[row] : 1.0f);
      const std::int64_t seen = row < sequence.queries ? causal.limit(row) - first_key : 0;
      visible[i] = static_cast<int>(min(seen, std::int64_t{kTileSide}));
    }
    const float* factors = key_factors + first_key;
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) {
      const bool exists = patch_column(j) < max(visible[0], visible[1]);
      const float factor = key_factors != nullptr && exists ? factors[patch_column(j)] : 1.0f;
#pragma unroll
      for (int i = 0; i < kPatchRows; ++i) {
        scores[i][j] = patch_column(j) < visible[i] ? scores[i][j] * row_factors[i] * factor : -INFINITY;
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

  __device__ LogSumExp log_sum_exp(const float* lse, const float* lse_low, std::int64_t row) const {
    const float given = row < sequence.queries ? lse[query_row(row)] : -INFINITY;
    if (given == -INFINITY) return {INFINITY, 0.0f};
    if (is_additive(problem.mask.type)) return {given, lse_low[query_row(row)]};
    return {given * kLog2E, 0.0f};
  }

  // 0 for a hidden key even where the row's log-sum-exp is NaN.
  __device__ float probability(float logit, const LogSumExp& lse) const {
    if (logit == -INFINITY) return 0.0f;
    const bool additive = is_additive(problem.mask.type);
    const float x = logit - lse.high - lse.low;
    const bool above = x > 0.0f && additive;  // by rounding
    const float exponent = above ? 0.0f : additive ? x * kLog2E : x;
    return exponent < -125.0f ? 0.0f : exp2f(exponent);
  }

 private:
  template <typename T>
  __device__ void apply_mask(Patch& logits, const int (&visible)[kPatchRows], std::int64_t first_row,
                             std::int64_t first_key) const {
    const Mask& mask = problem.mask;
    const T* first = static_cast<const T*>(mask.data) + sequence.batch * mask.batch_stride + head * mask.head_stride +
                     first_row * mask.row_stride + first_key;
#pragma unroll
    for (int i = 0; i < kPatchRows; ++i) {
      const T* row = first + patch_row(i) * mask.row_stride;
#pragma unroll
      for (int j = 0; j < kPatchColumns; ++j) {
        if (patch_column(j) < visible[i]) logits[i][j] = masked_logit(logits[i][j], row[patch_column(j)]);
      }
    }
  }
};

}  // namespace quest::kernels::cuda
