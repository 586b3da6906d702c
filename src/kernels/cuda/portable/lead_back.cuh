#pragma once

// From the gradients of the prepared rows back to those of the rows as given: q̂ = scale · gain ∘ q', k' = k/‖k‖.

#include "kernels/cuda/portable/shared_tile.cuh"

namespace quest::kernels::cuda::portable {

struct QueryChain {
  Matrix q;                            // as given
  const float* reciprocals = nullptr;  // 1/‖q‖ where normalised
  std::int64_t queries = 0;
  std::int64_t heads = 0;
  float scale = 1.0F;
  const float* gain = nullptr;
  std::int64_t gain_head_stride = 0;
  std::int64_t gain_dim_stride = 0;
  float* gain_partials = nullptr;  // null, or [block][dim]
};

struct QueryPlace {
  unsigned block;
  int64_t batch;
  int head;
  int64_t first_query;
  int first_owned;
  int first_row;  // of this warp
  int end;
  bool counts = true;  // this warp, and none that has the same rows
};

// The gradient of x from that of x' = x/‖x‖, for 16 rows: (dx' - x' (x'·dx')) / ‖x‖. A zero x has none, and a zero
// gradient stays zero whatever x holds.
template <int kBlocks, typename Unit>
__device__ void project_rows(Accumulator (&grads)[kBlocks], const float* reciprocals, int first_row, int end,
                             Unit unit) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + lane_row();
    const float reciprocal = row < end ? reciprocals[row] : 0.0f;
    float along = 0;
    float most = 0;
    if (row < end) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float grad = grads[block].x[half * 2 + i];
          along = fmaf(grad, unit(row, block * 8 + lane_column() + i), along);
          most = grad == 0 ? most : 1.0f;
        }
      }
    }
    along = quad_sum(along);
    const bool zero = quad_max(most) == 0 || reciprocal == 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& grad = grads[block].x[half * 2 + i];
        grad = zero ? 0.0f : (grad - along * unit(row, block * 8 + lane_column() + i)) * reciprocal;
      }
    }
  }
}

// One block's share of the gain's gradient: Σ over its rows of scale · q' ∘ dq̂.
template <int kBlocks, typename Unit>
__device__ void store_gain_partial(const Accumulator (&grads)[kBlocks], const QueryChain& chain,
                                   const QueryPlace& place, float* shared, Unit unit) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int column = block * 8 + lane_column() + i;
      float sum = 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = place.first_row + half * 8 + lane_row();
        const float grad = grads[block].x[half * 2 + i];
        if (row < place.end && place.counts && grad != 0) sum = fmaf(grad, unit(row, column), sum);
      }
#pragma unroll
      for (int lanes = 4; lanes < 32; lanes *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
      if (lane_row() == 0) shared[warp_id() * kBlocks * 8 + column] = sum;
    }
  }
  __syncthreads();
  const int warps = blockDim.x / 32;
  float* partial = chain.gain_partials + static_cast<int64_t>(place.block) * chain.q.dim;
  for (int column = threadIdx.x; column < chain.q.dim; column += blockDim.x) {
    float sum = 0;
    for (int warp = 0; warp < warps; ++warp) sum += shared[warp * kBlocks * 8 + column];
    partial[column] = chain.scale * sum;
  }
}

__device__ inline void clear_gain_partial(const QueryChain& chain, unsigned block) {
  float* partial = chain.gain_partials + static_cast<int64_t>(block) * chain.q.dim;
  for (int column = threadIdx.x; column < chain.q.dim; column += blockDim.x) partial[column] = 0;
}

// Called by all threads with what a warp summed for its 16 rows, Σ dS k'. `tile` and `shared` are scratch.
template <int kThreads, typename T, int kWidth, int kRows, bool kDense>
__device__ void lead_back_queries(Accumulator (&grads)[kWidth / 8], const QueryChain& chain, const QueryPlace& place,
                                  SharedTile<T, kWidth, kRows, kDense> tile, float* shared) {
  const float* reciprocals = chain.reciprocals;
  if (reciprocals != nullptr) {
    reciprocals += dense_row(place.batch, chain.heads, place.head, chain.queries, place.first_query);
  }
  if (reciprocals != nullptr || chain.gain_partials != nullptr) {
    const Rows<T> q(chain.q, place.batch, place.head, place.first_query);
    if (q.aligned) {
      stage<kThreads>(tile, q, place.first_owned, place.end);
      commit_copies();
      wait_copies();
    } else {
      store_elements<kThreads>(tile, q, place.first_owned, place.end);
    }
    __syncthreads();
  }
  const auto unit = [&](int row, int column) {
    return tile.element(row - place.first_owned, column) * (reciprocals == nullptr ? 1.0f : reciprocals[row]);
  };
  if (chain.gain_partials != nullptr) store_gain_partial(grads, chain, place, shared, unit);
  const float* gain = chain.gain + place.head * chain.gain_head_stride;
#pragma unroll
  for (int block = 0; block < kWidth / 8; ++block) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int column = block * 8 + lane_column() + i;
      const bool gained = chain.gain != nullptr && column < chain.q.dim;
      const float factor = gained ? chain.scale * gain[column * chain.gain_dim_stride] : chain.scale;
      grads[block].x[i] *= factor;
      grads[block].x[i + 2] *= factor;
    }
  }
  if (reciprocals != nullptr) project_rows(grads, reciprocals, place.first_row, place.end, unit);
}

}  // namespace quest::kernels::cuda::portable
