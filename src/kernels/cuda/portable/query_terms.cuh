#pragma once

// What every query row contributes to the backward by itself; where dQ is summed in fixed point, also the factor that
// makes its numbers integers, and zeros to begin the sums with.

#include <math_constants.h>

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/portable/query_sums.cuh"
#include "kernels/cuda/portable/score_rules.cuh"

namespace quest::kernels::cuda::portable {

// What a query brings to its weights besides its rows.
struct QueryTerms {
  float lse;    // in units of log 2, the high part in natural ones beside a bias; +inf where no key is seen: no weight
  float delta;  // dO·O
};

inline constexpr int kRowThreads = 256;
inline constexpr int kLanesPerRow = 8;
inline constexpr int kRowsAtOnce = kRowThreads / kLanesPerRow;

// f(x) for the elements of a row that fall to this lane.
template <typename T, typename F>
__device__ void visit_row(const Rows<T>& row, F f) {
  constexpr int kChunk = 16 / sizeof(T);
  const int lane = threadIdx.x % kLanesPerRow;
  if (row.aligned) {
    for (int column = lane * kChunk; column < row.dim; column += kLanesPerRow * kChunk) {
      const uint4 words = *reinterpret_cast<const uint4*>(row.data + column);
      T x[kChunk];
      memcpy(x, &words, sizeof(words));
#pragma unroll
      for (int i = 0; i < kChunk; ++i) f(static_cast<float>(x[i]));
    }
  } else {
    for (int column = lane; column < row.dim; column += kLanesPerRow) f(row.element(0, column));
  }
}

template <typename T>
__device__ float dot_of_rows(const Rows<T>& a, const Rows<T>& b, bool exists) {
  constexpr int kChunk = 16 / sizeof(T);
  const int lane = threadIdx.x % kLanesPerRow;
  float sum = 0;
  if (exists && a.aligned && b.aligned) {
    for (int column = lane * kChunk; column < a.dim; column += kLanesPerRow * kChunk) {
      const uint4 a_words = *reinterpret_cast<const uint4*>(a.data + column);
      const uint4 b_words = *reinterpret_cast<const uint4*>(b.data + column);
      T x[kChunk];
      T y[kChunk];
      memcpy(x, &a_words, sizeof(a_words));
      memcpy(y, &b_words, sizeof(b_words));
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum = fmaf(static_cast<float>(x[i]), static_cast<float>(y[i]), sum);
    }
  } else if (exists) {
    for (int column = lane; column < a.dim; column += kLanesPerRow) {
      sum = fmaf(a.element(0, column), b.element(0, column), sum);
    }
  }
  return sum_over<kLanesPerRow>(sum);
}

// ‖row‖ without overflow or underflow on the way.
template <typename T>
__device__ float length_of_row(const Rows<T>& row, bool exists) {
  float largest = 0;
  if (exists) visit_row(row, [&](float x) { largest = fmaxf(largest, fabsf(x)); });
  const float shrink = shrink_to_one(largest_over<kLanesPerRow>(largest));
  float squares = 0;
  if (exists) visit_row(row, [&](float x) { squares = fmaf(x * shrink, x * shrink, squares); });
  return sqrtf(sum_over<kLanesPerRow>(squares)) / shrink;
}

// ‖v‖ in tiles of kSumRows rows: [B, Hk, tiles][kSumRows], and the largest of each tile.
struct ValueLengths {
  float* of_row = nullptr;
  float* of_tile = nullptr;
};

struct ValueParameters {
  AttentionProblem problem;
  Matrix v;
  ValueLengths lengths;
};

// Rows that are not finite count as zero: queries that see them have no finite Δ.
template <typename T>
__global__ void __launch_bounds__(kRowThreads) value_lengths_kernel(const __grid_constant__ ValueParameters p) {
  const AttentionProblem& problem = p.problem;
  const Place place(problem, problem.cu_seqlens_k, problem.keys, problem.kv_heads, kSumRows, blockIdx.x);
  const Sequence sequence(problem, place.sequence);
  float largest = 0;
#pragma unroll
  for (int pass = 0; pass < kSumRows / kRowsAtOnce; ++pass) {
    const int row = place.tile * kSumRows + pass * kRowsAtOnce + threadIdx.x / kLanesPerRow;
    const Rows<T> v(p.v, sequence.batch, place.head, sequence.first_key + row);
    const float measured = length_of_row(v, row < sequence.keys);
    const float length = measured <= FLT_MAX ? measured : 0.0f;
    if (threadIdx.x % kLanesPerRow == 0) {
      p.lengths.of_row[static_cast<int64_t>(blockIdx.x) * kSumRows + row % kSumRows] = length;
    }
    largest = fmaxf(largest, length);
  }
  __shared__ float of_warp[kRowThreads / 32];
  largest = largest_over<32>(largest);
  if (lane_id() == 0) of_warp[warp_id()] = largest;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int warp = 1; warp < kRowThreads / 32; ++warp) largest = fmaxf(largest, of_warp[warp]);
  p.lengths.of_tile[blockIdx.x] = largest;
}

struct TermsParameters {
  AttentionProblem problem;
  Matrix out;
  Matrix grad_out;
  const float* lse;
  QueryTerms* terms;
  ValueLengths value_lengths;
  float* to_fixed;  // [B, H, Nq]; NaN where the gradient is
  int32_t* sums;    // [B, H, tiles][kSumRows · width]; null: dQ is not summed in fixed point
  int width;
  MaskBits mask_bits;  // a row is a query's
};

// The largest ‖v‖ among the keys that queries from `first_row` on see: those that order leaves to all of them, and the
// others. Where there is a mask, which excludes order, up to kLooseness times as much.
struct LargestValue {
  static constexpr float kLooseness = 8;
  static constexpr int kKeysPerLane = kSumRows / kLanesPerRow;

  const float* of_row;
  const float* of_tile;
  CausalLimit limit;
  ScoreRules rules;
  int tiles;
  int common_keys;
  float common = 0;

  __device__ LargestValue(const TermsParameters& p, const Sequence& sequence, int head, int first_row)
      : limit(p.problem.causal, sequence), rules(p.problem, sequence, p.mask_bits) {
    rules.select_head(p.problem, p.mask_bits, sequence, head);
    const AttentionProblem& problem = p.problem;
    const bool packed = problem.cu_seqlens_k != nullptr;
    const int64_t slots = tile_slots(packed, problem.batch, problem.keys, kSumRows);
    const int64_t slot = packed ? first_slot(sequence.first_key, sequence.index, kSumRows) : 0;
    const int64_t key_head = head / (problem.heads / problem.kv_heads);
    const int64_t first = dense_row(sequence.batch, problem.kv_heads, key_head, slots, slot);
    const auto seen = static_cast<int>(limit.limit(first_row));
    tiles = limit.active ? seen / kSumRows : static_cast<int>(ceil_div(seen, kSumRows));
    common_keys = tiles * kSumRows;
    of_row = p.value_lengths.of_row + first * kSumRows;
    of_tile = p.value_lengths.of_tile + first;
    for (int tile = lane_id(); tile < tiles; tile += 32) common = fmaxf(common, of_tile[tile]);
    common = largest_over<32>(common);
  }

  __device__ float left_of_tile(int row, int tile) const {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < kKeysPerLane; ++i) {
      const int key = tile * kSumRows + threadIdx.x % kLanesPerRow * kKeysPerLane + i;
      if (key < rules.keys && rules.leaves(row, key)) largest = fmaxf(largest, of_row[key]);
    }
    return largest_over<kLanesPerRow>(largest);
  }

  // Looks for visible keys in tiles that may hold much longer values than those found so far, which the first tile
  // mostly leaves none of.
  __device__ float left_by_mask(int row) const {
    float largest = 0;
    float passed_over = 0;
    int tile = static_cast<int>(static_cast<int64_t>(row) * tiles / rules.queries);
    for (int i = 0; i < tiles; ++i) {
      if (__any_sync(0xffffffffu, of_tile[tile] > kLooseness * largest)) {
        largest = fmaxf(largest, left_of_tile(row, tile));
        if (__all_sync(0xffffffffu, common <= kLooseness * largest)) return common;
      } else {
        passed_over = fmaxf(passed_over, of_tile[tile]);
      }
      tile = tile + 1 < tiles ? tile + 1 : 0;
    }
    return fmaxf(largest, passed_over);
  }

  __device__ float seen_by(int row) const {
    if (rules.mask_type != MaskType::none) return left_by_mask(row);
    float largest = common;
    const auto seen = static_cast<int>(limit.limit(row));
    for (int key = common_keys + threadIdx.x % kLanesPerRow; key < seen; key += kLanesPerRow) {
      largest = fmaxf(largest, of_row[key]);
    }
    return largest_over<kLanesPerRow>(largest);
  }
};

template <typename T>
__global__ void __launch_bounds__(kRowThreads) terms_kernel(const __grid_constant__ TermsParameters p) {
  const AttentionProblem& problem = p.problem;
  const Place place(problem, problem.cu_seqlens_q, problem.queries, problem.heads, kSumRows, blockIdx.x);
  const Sequence sequence(problem, place.sequence);
  const int first = place.tile * kSumRows;
  const int end = static_cast<int>(sequence.queries);
  if (first >= end) return;
  const bool fixed = p.sums != nullptr;
  if (fixed) {
    auto* sums = reinterpret_cast<uint4*>(p.sums + static_cast<int64_t>(blockIdx.x) * kSumRows * p.width);
    for (int i = threadIdx.x; i < kSumRows * p.width / 4; i += kRowThreads) sums[i] = {};
  }
  const float kept = problem.dropout_p > 0 ? DropoutFactors(problem.dropout_p).kept : 1.0f;
  const int64_t head_row = dense_row(sequence.batch, problem.heads, place.head, problem.queries, sequence.first_query);
#pragma unroll
  for (int pass = 0; pass < kSumRows / kRowsAtOnce; ++pass) {
    const int row = first + pass * kRowsAtOnce + threadIdx.x / kLanesPerRow;
    const bool exists = row < end;
    const Rows<T> grad(p.grad_out, sequence.batch, place.head, sequence.first_query + row);
    const float delta =
        dot_of_rows(Rows<T>(p.out, sequence.batch, place.head, sequence.first_query + row), grad, exists);
    float bound = fabsf(delta);
    if (fixed) {
      const LargestValue value(p, sequence, place.head, first);
      bound = fmaf(length_of_row(grad, exists) * kept, value.seen_by(min(row, end - 1)), bound);
    }
    if (!exists || threadIdx.x % kLanesPerRow > 0) continue;
    const float lse = p.lse[head_row + row];
    const float unit = is_additive(problem.mask.type) ? 1.0f : kLog2E;
    p.terms[head_row + row] = {lse == -kInfinity ? kInfinity : lse * unit, delta};
    if (!fixed) continue;
    // Weights are computed again from rounded scores; where those have no digits left, none is more than one.
    constexpr float kWeightSlack = 1.25f;
    constexpr float kLargestExact = 0x1p17f;
    bound *= fabsf(lse) < kLargestExact ? kWeightSlack : fmaxf(kWeightSlack, static_cast<float>(sequence.keys));
    const bool defined = bound <= FLT_MAX && lse <= FLT_MAX;
    p.to_fixed[head_row + row] = lse == -kInfinity ? 1.0f : defined ? fixed_point_factor(bound) : CUDART_NAN_F;
  }
}

}  // namespace quest::kernels::cuda::portable
