#pragma once

#include "kernels/cuda/short/load.cuh"

namespace quest::kernels::cuda {

// Everything of one head that the gradient passes read, all in shared memory.
template <typename HeadTile>
struct Head {
  static constexpr int D = HeadTile::kDim;
  static constexpr int kRows = HeadTile::kRows;
  static constexpr int kBytes = 4 * HeadTile::kBytes + 3 * kRows * static_cast<int>(sizeof(float));

  int length;
  HeadTile queries;
  HeadTile keys;
  HeadTile values;
  HeadTile grads;
  uint32_t negative_lse;    // in units of log2
  uint32_t negative_delta;  // minus the row sum of grad_out * out
  uint32_t reciprocal_norm;

  __device__ Head(uint32_t base, int length) : length(length) {
    queries = {base};
    keys = {base + HeadTile::kBytes};
    values = {base + 2 * HeadTile::kBytes};
    grads = {base + 3 * HeadTile::kBytes};
    negative_lse = base + 4 * HeadTile::kBytes;
    negative_delta = negative_lse + kRows * 4;
    reciprocal_norm = negative_delta + kRows * 4;
  }

  __device__ int padded_length() const { return round_up(length, 16); }
};

// The rows of the output and its lse that this quad owns, on their way into the row constants.
template <int kWarps, typename AnyTile>
struct OwnedRows {
  static constexpr int D = AnyTile::kDim;
  static constexpr int kPerLane = (D / 8 + 3) / 4;
  static constexpr int kSteps = kOwnedSteps<AnyTile::kRows, kWarps>;
  uint4 chunks[kSteps][kPerLane];
  float lse[kSteps];

  __device__ static bool holds(int step, int i, int length) {
    return owned_row<kWarps>(step) < length && lane_id() % 4 + 4 * i < D / 8;
  }

  __device__ void load(const __nv_bfloat16* source, const float* source_lse, int length) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      lse[step] = owned_row<kWarps>(step) < length ? source_lse[owned_row<kWarps>(step)] : INFINITY;
    }
    source += owned_row<kWarps>(0) * D + lane_id() % 4 * 8;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        const auto* chunk = reinterpret_cast<const uint4*>(source + step * kWarps * 8 * D + i * 32);
        chunks[step][i] = holds(step, i, length) ? *chunk : uint4{0, 0, 0, 0};
      }
    }
  }

  __device__ float dot(int step, AnyTile other, int length) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (!holds(step, i, length)) continue;
      const uint4 a = chunks[step][i];
      const uint4 b = load_shared(other.chunk_address(owned_row<kWarps>(step), lane_id() % 4 + 4 * i));
      sum = dot_pair(a.x, b.x, dot_pair(a.y, b.y, dot_pair(a.z, b.z, dot_pair(a.w, b.w, sum))));
    }
    return quad_sum(sum);
  }
};

// Rows beyond length get weight zero through lse = +infinity.
template <int kWarps, typename AnyTile>
__device__ void fill_row_constants(const Head<AnyTile>& head, const OwnedRows<kWarps, AnyTile>& out) {
#pragma unroll
  for (int step = 0; step < out.kSteps; ++step) {
    const int row = owned_row<kWarps>(step);
    const float sum = out.dot(step, head.grads, head.length);
    if (row < head.padded_length() && lane_id() % 4 == 0) {
      store_shared(head.negative_delta + row * 4, -sum);
      store_shared(head.negative_lse + row * 4, -out.lse[step] * kLog2E);
      if (row >= head.length) store_shared(head.reciprocal_norm + row * 4, 0.0f);
    }
  }
}

// Replaces the head's keys by unit keys and fills the row constants, each quad for the rows it owns.
template <int kWarps, typename AnyTile>
__device__ void prepare_head(const Head<AnyTile>& head, const OwnedRows<kWarps, AnyTile>& out) {
  normalize_owned_keys<kWarps>(head.keys, head.length,
                               [&](int row, float norm) { store_shared(head.reciprocal_norm + row * 4, norm); });
  fill_row_constants(head, out);
}

// Brings the block's head into shared memory, keys normalised; ends with every tile visible to the whole block.
template <int kWarps, typename AnyTile>
__device__ void load_head(const Head<AnyTile>& head, const BackwardProblem& problem) {
  const int length = head.length;
  const int64_t head_offset = int64_t{blockIdx.x} * length * head.D;
  copy_rows_async<kWarps>(head.keys, problem.k + head_offset, length);
  copy_rows_async<kWarps>(head.grads, problem.grad_out + head_offset, length);
  copy_rows_async<kWarps>(head.queries, problem.q + head_offset, length);
  copy_rows_async<kWarps>(head.values, problem.v + head_offset, length);
  commit_copies();
  OwnedRows<kWarps, AnyTile> out;
  out.load(problem.out + head_offset, problem.lse + int64_t{blockIdx.x} * length, length);
  wait_copies<0>();
  prepare_head(head, out);
  __syncthreads();
}

}  // namespace quest::kernels::cuda
