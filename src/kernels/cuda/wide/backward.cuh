#pragma once

#include "kernels/cuda/device/operands.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/resident/epilogue.cuh"
#include "kernels/cuda/resident/softmax.cuh"
#include "kernels/cuda/wide/head.cuh"
#include "kernels/cuda/wide/pipeline.cuh"
#include "kernels/cuda/wide/scores.cuh"

namespace quest::kernels::cuda::resident::wide {

template <typename T>
struct WideBackwardProblem {
  HeadShape shape;
  CUtensorMap q{};  // boxes of all rows
  CUtensorMap k{};
  CUtensorMap v{};
  CUtensorMap grad_out{};
  CUtensorMap grad_k{};  // boxes of 64 rows
  CUtensorMap grad_v{};
  Heads<const T> out;
  const float* lse;
  Heads<T> grad_q;
};

using WideHead = Head<WideTile>;

struct WideBackwardStage {
  static constexpr int kLoadedBytes = 4 * WideTile::kBytes;
  static constexpr int kBytes = round_up(WideHead::kBytes, 1024);
};

// The two passes of head_backward with 64 rows per warpgroup. Rows past the end read whatever lies behind; rows
// of a product do not mix, and those are never stored. Warps without a valid row take part in the products and skip
// everything else.

template <typename T, int kColumns>
__device__ void start_products(Accumulator (&acc)[kColumns / 8], WideTile rows, int first_row, WideTile columns,
                               int first_column) {
#pragma unroll
  for (int depth = 0; depth < 4; ++depth) {
    multiply<T>(acc, sum_columns(rows, first_row, depth), sum_columns(columns, first_column, depth), depth > 0);
  }
}

template <typename T, int kCount>
__device__ void start_weighted_rows(Accumulator (&acc)[8], const Fragment (&weights)[(kCount + 15) / 16], WideTile rows,
                                    int first_row) {
#pragma unroll
  for (int block = 0; block < (kCount + 15) / 16; ++block) {
    multiply<T>(acc, weights[block], sum_rows(rows, first_row + 16 * block), true);
  }
}

// From scores and grad_out . v to weights and score gradients.
__device__ inline void weigh_gradient(Accumulator& scores, Accumulator& grads, Accumulator negative_lse,
                                      Accumulator negative_delta) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    scores.x[i] = exp2_fast(scores.x[i] + negative_lse.x[i]);
    grads.x[i] = (grads.x[i] + negative_delta.x[i]) * scores.x[i];
  }
}

template <typename T>
struct WideKeyGradients {
  const WideHead& head;
  int group_row;
  int first_row;  // of this warp
  Accumulator key_acc[8] = {};
  Accumulator value_acc[8] = {};

  template <int kQueries>
  __device__ void add_queries(int first_query) {
    Accumulator scores[kQueries / 8];
    Accumulator grads[kQueries / 8];
    open_products();
    start_products<T, kQueries>(scores, head.keys, group_row, head.queries, first_query);
    start_products<T, kQueries>(grads, head.values, group_row, head.grads, first_query);
    commit_products();
    wait_products();
    if (first_row < head.length) weigh_queries<kQueries>(scores, grads, first_query);
    Fragment weights[(kQueries + 15) / 16];
    Fragment score_grads[(kQueries + 15) / 16];
    pack_all<kQueries, T>(weights, scores);
    pack_all<kQueries, T>(score_grads, grads);
    open_products();
    start_weighted_rows<T, kQueries>(value_acc, weights, head.grads, first_query);
    start_weighted_rows<T, kQueries>(key_acc, score_grads, head.queries, first_query);
    commit_products();
    wait_products();
  }

  template <int kQueries>
  __device__ void weigh_queries(Accumulator (&scores)[kQueries / 8], Accumulator (&grads)[kQueries / 8],
                                int first_query) {
#pragma unroll
    for (int block = 0; block < kQueries / 8; ++block) {
      const int column = first_query + 8 * block + lane_column();
      const float2 lse = load_shared_float2(head.negative_lse + column * 4);
      const float2 delta = load_shared_float2(head.negative_delta + column * 4);
      weigh_gradient(scores[block], grads[block], {lse.x, lse.y, lse.x, lse.y}, {delta.x, delta.y, delta.x, delta.y});
    }
  }

  __device__ void visit_queries() {
    int first_query = 0;
#pragma unroll 1
    for (; first_query + 16 < head.length; first_query += 32) add_queries<32>(first_query);
    if (first_query < head.length) add_queries<16>(first_query);
  }

  // The gradients take the place of the keys and values they belong to.
  __device__ void stage(float projection) {
    if (first_row >= head.length) return;
    const float one[2] = {1, 1};
    stage_rows<T>(head.values, value_acc, one, first_row);
    Fragment key[4];
#pragma unroll
    for (int depth = 0; depth < 4; ++depth) key[depth] = load_matrix(rows_first(head.keys, first_row, depth));
    project_off_keys<T>(key_acc, key, {projection, projection});
    const uint32_t factors = head.key_factors + (first_row + lane_row()) * 4;
    const float factor[2] = {load_shared_float(factors), load_shared_float(factors + 32)};
    stage_rows<T>(head.keys, key_acc, factor, first_row);
  }
};

template <typename T>
struct WideQueryGradients {
  const WideHead& head;
  int group_row;
  int first_row;  // of this warp
  RowPair lse = {};
  RowPair delta = {};
  Accumulator acc[8] = {};

  template <int kKeys, bool kMasked>
  __device__ void add_keys(int first_key) {
    Accumulator scores[kKeys / 8];
    Accumulator grads[kKeys / 8];
    open_products();
    start_products<T, kKeys>(scores, head.queries, group_row, head.keys, first_key);
    start_products<T, kKeys>(grads, head.grads, group_row, head.values, first_key);
    commit_products();
    wait_products();
    if constexpr (kMasked) mask_padding<0>(scores, first_key, head.length);
    if (first_row < head.length) weigh_keys<kKeys>(scores, grads);
    Fragment score_grads[(kKeys + 15) / 16];
    pack_all<kKeys, T>(score_grads, grads);
    open_products();
    start_weighted_rows<T, kKeys>(acc, score_grads, head.keys, first_key);
    commit_products();
    wait_products();
  }

  template <int kKeys>
  __device__ void weigh_keys(Accumulator (&scores)[kKeys / 8], Accumulator (&grads)[kKeys / 8]) {
#pragma unroll
    for (int block = 0; block < kKeys / 8; ++block) {
      weigh_gradient(scores[block], grads[block], {lse.x[0], lse.x[0], lse.x[1], lse.x[1]},
                     {delta.x[0], delta.x[0], delta.x[1], delta.x[1]});
    }
  }

  __device__ void run(Rows<T> grad_q) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t row = (first_row + lane_row() + 8 * half) * 4;
      lse.x[half] = load_shared_float(head.negative_lse + row);
      delta.x[half] = load_shared_float(head.negative_delta + row);
    }
    int first_key = 0;
#pragma unroll 1
    for (; first_key + 56 < head.length; first_key += 48) add_keys<48, false>(first_key);
    const int rest = head.length - first_key;
    if (rest > 48) {
      add_keys<56, true>(first_key);
    } else if (rest > 16) {
      add_keys<48, true>(first_key);
    } else {
      add_keys<16, true>(first_key);
    }
    const float ln2[2] = {kLn2, kLn2};
    if (first_row < head.length) store_rows(grad_q, acc, ln2, first_row, head.length);
  }
};

// Once every group has its query gradients, only the tile's own group reads its keys and values, so their gradients
// leave through their place.
template <typename T>
__device__ void store_key_tile(WideKeyGradients<T>& gradients, const WideBackwardProblem<T>& problem, HeadIndex head,
                               int group) {
  gradients.stage(problem.shape.projection);
  order_with_engines();
  synchronize_group(group);
  if (threadIdx.x % 128 == 0) {
    const int row = group * kGroupRows;
    store_box(problem.grad_k, 0, row, head.head, head.batch, gradients.head.keys.base + row * 128);
    store_box(problem.grad_v, 0, row, head.head, head.batch, gradients.head.values.base + row * 128);
    commit_stores();
  }
}

// kFull: every group has rows.
template <typename T, bool kFull>
__global__ void __launch_bounds__(kWideThreads, 1)
    wide_backward(const __grid_constant__ WideBackwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ uint64_t barrier_memory[3];
  const auto queries_done = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier_memory[2]));
  int parity = 0;
  if (threadIdx.x == 0) initialize_barrier(queries_done, kWideWarps);
  const Pipeline<WideBackwardStage> pipeline(shared, barrier_memory);
  const HeadShape& shape = problem.shape;
  const int length = shape.length;
  const int group = group_id();
  OwnedRows<T, WideTile, kWideThreads> out;
  const auto load_out = [&](HeadIndex head) {
    out.load(problem.out[head], problem.lse + int64_t{head.dense} * length, length);
  };
  const auto load = [&](uint32_t base, HeadIndex head, uint32_t barrier) {
    const WideHead target(base, length);
    load_box(target.keys.base, problem.k, 0, 0, head.head, head.batch, barrier);
    load_box(target.grads.base, problem.grad_out, 0, 0, head.head, head.batch, barrier);
    load_box(target.queries.base, problem.q, 0, 0, head.head, head.batch, barrier);
    load_box(target.values.base, problem.v, 0, 0, head.head, head.batch, barrier);
  };
  const auto compute = [&](uint32_t base, HeadIndex index, HeadIndex next, auto prefetch) {
    const WideHead head(base, length);
    prepare_head(head, out, shape);
    order_with_engines();
    wait_stores_read();
    __syncthreads();
    prefetch();
    const int group_row = group * kGroupRows;
    const bool has_rows = kFull || group_row < length;
    if (has_rows) WideQueryGradients<T>{head, group_row, warp_id() * 16}.run(problem.grad_q[index]);
    __syncwarp();
    if (lane_id() == 0) arrive(queries_done);
    WideKeyGradients<T> gradients{head, group_row, warp_id() * 16};
    if (has_rows) gradients.visit_queries();
    load_out(next.dense < shape.head_count() ? next : index);
    synchronize_group(group);
    wait_barrier(queries_done, parity);
    parity ^= 1;
    if (has_rows) store_key_tile(gradients, problem, index, group);
  };
  load_out(shape.head(blockIdx.x));
  pipeline.run(shape, load, compute);
  wait_stores_read();
}

}  // namespace quest::kernels::cuda::resident::wide
