#pragma once

#include "kernels/cuda/wide/rows.cuh"

namespace quest::kernels::cuda::resident::wide {

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
  uint32_t key_factors;     // scale / |k|

  __device__ Head(uint32_t base, int length) : length(length) {
    queries = {base};
    keys = {base + HeadTile::kBytes};
    values = {base + 2 * HeadTile::kBytes};
    grads = {base + 3 * HeadTile::kBytes};
    negative_lse = base + 4 * HeadTile::kBytes;
    negative_delta = negative_lse + kRows * 4;
    key_factors = negative_delta + kRows * 4;
  }

  __device__ int padded_length() const { return round_up(length, 16); }
};

// The rows of the output and its lse that this quad of a block of kThreads owns, on their way into the row constants.
template <typename T, typename AnyTile, int kThreads>
struct OwnedRows {
  static constexpr int D = AnyTile::kDim;
  static constexpr int kPerLane = D / 32;
  static constexpr int kSteps = (AnyTile::kRows + kThreads / 4 - 1) / (kThreads / 4);
  uint4 chunks[kSteps][kPerLane];
  float lse[kSteps];

  __device__ static int row(int step) { return step * kThreads / 4 + first_owned_row(); }

  __device__ void load(Rows<const T> source, const float* source_lse, int length) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      lse[step] = row(step) < length ? source_lse[row(step)] : INFINITY;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        const auto* chunk = reinterpret_cast<const uint4*>(source[row(step)] + (lane_id() % 4 + 4 * i) * 8);
        chunks[step][i] = row(step) < length ? *chunk : uint4{0, 0, 0, 0};
      }
    }
  }

  // Rows beyond length give nothing of use.
  __device__ float dot(int step, AnyTile other) const {
    const int other_row = min(row(step), AnyTile::kRows - 1);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const uint4 a = chunks[step][i];
      const uint4 b = load_shared(other.chunk_address(other_row, lane_id() % 4 + 4 * i));
      sum = dot_pair<T>(a.x, b.x, dot_pair<T>(a.y, b.y, dot_pair<T>(a.z, b.z, dot_pair<T>(a.w, b.w, sum))));
    }
    return quad_sum(sum);
  }
};

// Replaces the head's keys by unit keys and fills the row constants, each quad for the rows it owns. Rows beyond length
// get weight zero through lse = +infinity.
template <typename T, typename AnyTile, int kThreads>
__device__ void prepare_head(const Head<AnyTile>& head, const OwnedRows<T, AnyTile, kThreads>& out,
                             const HeadShape& shape) {
#pragma unroll
  for (int step = 0; step < out.kSteps; ++step) {
    const int row = out.row(step);
    if (!__any_sync(0xffffffffu, row < shape.length)) continue;
    normalize_key<T>(head.keys, row, shape.length, shape.key_factor, [&](int key, float reciprocal_norm) {
      store_shared(head.key_factors + key * 4, reciprocal_norm * shape.scale);
    });
  }
#pragma unroll
  for (int step = 0; step < out.kSteps; ++step) {
    const int row = out.row(step);
    const float sum = out.dot(step, head.grads);
    if (row < head.padded_length() && lane_id() % 4 == 0) {
      store_shared(head.negative_delta + row * 4, row < shape.length ? -sum : 0.0f);
      store_shared(head.negative_lse + row * 4, -out.lse[step] * kLog2E);
      if (row >= shape.length) store_shared(head.key_factors + row * 4, 0.0f);
    }
  }
}

}  // namespace quest::kernels::cuda::resident::wide
