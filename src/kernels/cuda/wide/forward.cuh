#pragma once

#include "kernels/cuda/device/operands.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/resident/query_tile.cuh"
#include "kernels/cuda/wide/pipeline.cuh"
#include "kernels/cuda/wide/rows.cuh"
#include "kernels/cuda/wide/scores.cuh"

namespace quest::kernels::cuda::resident::wide {

// Rounded unit keys: what a product with one is still to be multiplied by.
struct UnitKeys {
  __device__ float2 factors(int) const { return {1, 1}; }
};

struct WideForwardProblem {
  HeadShape shape;
  CUtensorMap q{};  // boxes of all rows
  CUtensorMap k{};
  CUtensorMap v{};
  CUtensorMap out{};  // boxes of 64 rows
  float* lse;
};

struct WideForwardStage {
  static constexpr int kLoadedBytes = 3 * WideTile::kBytes;
  static constexpr int kBytes = kLoadedBytes;
};

// One warpgroup's 64 queries against keys and values in shared memory; the tile describes this warp's 16. Warps without
// a valid query take part in the products and skip everything else.
template <typename T>
struct WideQueries {
  QueryTile<T, WideTile, 1, UnitKeys> tile;
  WideTile queries;
  int group_row;
  Accumulator acc[8];
  RowPair sum;

  __device__ bool active() const { return tile.first_row < tile.shape.length; }

  __device__ void load_query() {
#pragma unroll
    for (int depth = 0; depth < 4; ++depth) {
      tile.query[0][depth] = load_matrix(rows_first(queries, tile.first_row, depth));
    }
  }

  template <int kKeys>
  __device__ void start_scores(Accumulator (&scores)[kKeys / 8], int first_key) {
    open_products();
#pragma unroll
    for (int depth = 0; depth < 4; ++depth) {
      multiply<T>(scores, sum_columns(queries, group_row, depth), sum_columns(tile.keys, first_key, depth), depth > 0);
    }
    commit_products();
  }

  template <int kKeys>
  __device__ void weigh(Accumulator (&scores)[kKeys / 8], int first_key) {
    if (!is_zero(tile.offset[0])) {
#pragma unroll
      for (auto& block : scores) subtract(block, tile.offset[0]);
    }
    mask_padding<kWideFewestRows>(scores, first_key, tile.shape.length);
#pragma unroll
    for (auto& block : scores) {
      exponentiate(block);
      truncate<T>(block);
#pragma unroll
      for (int i = 0; i < 4; ++i) sum.x[i / 2] += block.x[i];
    }
  }

  template <int kKeys>
  __device__ void attend_block(int first_key) {
    Accumulator scores[kKeys / 8];
    start_scores<kKeys>(scores, first_key);
    wait_products();
    if (active()) weigh<kKeys>(scores, first_key);
    Fragment weights[(kKeys + 15) / 16];
    pack_all<kKeys, T>(weights, scores);
    open_products();
#pragma unroll
    for (int block = 0; block < (kKeys + 15) / 16; ++block) {
      multiply<T>(acc, weights[block], sum_rows(tile.values, first_key + 16 * block), true);
    }
    commit_products();
    wait_products();
  }

  __device__ void attend() {
    sum = {0, 0};
#pragma unroll
    for (auto& block : acc) block = {0, 0, 0, 0};
    attend_block<112>(0);
    attend_block<kWideRows - 112>(112);
    sum = {quad_sum(sum.x[0]), quad_sum(sum.x[1])};
  }
};

// Output rows replace their queries in shared memory on the way out.
template <typename T>
__device__ void forward_tile(WideQueries<T>& wide, const WideForwardProblem& problem, HeadIndex head, int group) {
  const HeadShape& shape = problem.shape;
  if (wide.active()) {
    wide.load_query();
    wide.tile.use_bound();
  }
  wide.attend();
  if (!synchronize_group_all(group, !wide.active() || resolved<T>(wide.sum, shape.length))) {
    if (wide.active()) {
      wide.load_query();
      wide.tile.use_largest_score();
    }
    wide.attend();
    synchronize_group(group);
  }
  if (wide.active()) {
    stage_rows<T>(wide.queries, wide.acc, reciprocals(wide.sum).x, wide.tile.first_row);
    const RowPair offset = wide.tile.offset[0];
    store_lse(problem.lse + int64_t{head.dense} * shape.length,
              {offset.x[0] + WeightRange<T>::kTruncated, offset.x[1] + WeightRange<T>::kTruncated}, wide.sum,
              wide.tile.first_row, shape.length);
  }
  order_with_engines();
  synchronize_group(group);
  if (threadIdx.x % 128 == 0) {
    const int row = group * kGroupRows;
    store_box(problem.out, 0, row, head.head, head.batch, wide.queries.base + row * 128);
    commit_stores();
  }
}

template <typename T>
__global__ void __launch_bounds__(kWideThreads, 1) wide_forward(const __grid_constant__ WideForwardProblem problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ uint64_t barrier_memory[2];
  const Pipeline<WideForwardStage> pipeline(shared, barrier_memory);
  const HeadShape& shape = problem.shape;
  const int group = group_id();
  const auto load = [&](uint32_t base, HeadIndex head, uint32_t barrier) {
    load_box(base, problem.k, 0, 0, head.head, head.batch, barrier);
    load_box(base + WideTile::kBytes, problem.q, 0, 0, head.head, head.batch, barrier);
    load_box(base + 2 * WideTile::kBytes, problem.v, 0, 0, head.head, head.batch, barrier);
  };
  const auto compute = [&](uint32_t base, HeadIndex head, HeadIndex, auto prefetch) {
    WideQueries<T> wide{.tile = {.shape = shape,
                                 .lengths = {},
                                 .keys = {base},
                                 .values = {base + 2 * WideTile::kBytes},
                                 .first_row = warp_id() * 16},
                        .queries = {base + WideTile::kBytes},
                        .group_row = group * kGroupRows};
#pragma unroll
    for (int row = first_owned_row(); row < kWideRows; row += kWideThreads / 4) {
      if (!__any_sync(0xffffffffu, row < shape.length)) continue;
      normalize_key<T>(wide.tile.keys, row, shape.length, shape.key_factor, kKeepNothing);
    }
    order_with_engines();
    wait_stores_read();
    __syncthreads();
    prefetch();
    if (wide.group_row < shape.length) forward_tile(wide, problem, head, group);
  };
  pipeline.run(shape, load, compute);
  wait_stores_read();
}

}  // namespace quest::kernels::cuda::resident::wide
