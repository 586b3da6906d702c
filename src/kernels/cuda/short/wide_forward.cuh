#pragma once

#include "kernels/cuda/short/short_forward.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/short/wide_pipeline.cuh"

namespace quest::kernels::cuda {

struct WideForwardProblem {
  CUtensorMap q;  // boxes of all rows
  CUtensorMap k;
  CUtensorMap v;
  CUtensorMap out;  // boxes of 64 rows
  float* lse;
  int heads;
  int length;
};

struct WideForwardStage {
  static constexpr int kLoadedBytes = 3 * WideTile::kBytes;
  static constexpr int kBytes = kLoadedBytes;
};

using WideQueryTile = QueryTile<WideTile, 1, false>;

__device__ inline void load_query(WideQueryTile& tile, WideTile queries) {
#pragma unroll
  for (int depth = 0; depth < 4; ++depth)
    tile.query[0][depth] = load_matrix(rows_first(queries, tile.first_row, depth));
  tile.choose_offset();
}

// One warpgroup's 64 queries against keys and values in shared memory; the tile describes this warp's 16. Warps without
// a valid query take part in the products and skip everything else.
struct WideQueries {
  WideQueryTile& tile;
  WideTile queries;
  int group_row;
  Accumulator acc[8] = {};
  RowPair sum = {};

  template <int kKeys>
  __device__ void start_scores(Accumulator (&scores)[kKeys / 8], int first_key) {
    open_products();
#pragma unroll
    for (int depth = 0; depth < 4; ++depth) {
      multiply_shared(scores, sum_over_columns(queries, group_row, depth),
                      sum_over_columns(tile.keys, first_key, depth), depth > 0);
    }
    commit_products();
  }

  template <int kKeys>
  __device__ void weigh(Accumulator (&scores)[kKeys / 8], int first_key) {
    if (!is_zero(tile.offset[0])) {
#pragma unroll
      for (auto& block : scores) subtract(block, tile.offset[0]);
    }
    mask_padding(scores, first_key, tile.length);
#pragma unroll
    for (auto& block : scores) {
      exponentiate(block);
      truncate(block);
#pragma unroll
      for (int i = 0; i < 4; ++i) sum.x[i / 2] += block.x[i];
    }
  }

  template <int kKeys>
  __device__ void start_values(Accumulator (&scores)[kKeys / 8], int first_key) {
    Fragment weights[(kKeys + 15) / 16];
    pack_all<kKeys>(weights, scores);
    open_products();
#pragma unroll
    for (int block = 0; block < (kKeys + 15) / 16; ++block) {
      multiply_register(acc, weights[block], sum_over_rows(tile.values, first_key + 16 * block));
    }
    commit_products();
  }

  template <int kKeys>
  __device__ void attend_block(int first_key) {
    Accumulator scores[kKeys / 8];
    start_scores<kKeys>(scores, first_key);
    wait_products();
    if (tile.first_row < tile.length) weigh<kKeys>(scores, first_key);
    start_values<kKeys>(scores, first_key);
    wait_products();
  }

  __device__ void attend() {
    attend_block<112>(0);
    if (tile.length > 112) attend_block<kWideRows - 112>(112);
  }
};

// Output rows replace their queries in shared memory on the way out.
__device__ inline void forward_tile(WideQueryTile& tile, WideTile queries, const WideForwardProblem& problem, int head,
                                    int group) {
  tile.first_row = warp_id() * 16;
  const bool active = tile.first_row < tile.length;
  if (active) load_query(tile, queries);
  WideQueries wide{tile, queries, group * kGroupRows};
  wide.attend();
  synchronize_group(group);
  if (active) {
    const RowPair total = {quad_sum(wide.sum.x[0]), quad_sum(wide.sum.x[1])};
    stage_rows(queries, wide.acc, reciprocals(total).x, tile.first_row);
    store_lse(problem.lse + int64_t{head} * tile.length, tile.offset[0], total, tile.first_row, tile.length);
  }
  order_with_engines();
  synchronize_group(group);
  if (threadIdx.x % 128 == 0) {
    store_box(problem.out, group * kGroupRows, head, queries.base + group * kGroupRows * 128);
    commit_stores();
  }
}

__global__ void __launch_bounds__(kWideThreads, 1) wide_forward(const __grid_constant__ WideForwardProblem problem) {
  extern __shared__ unsigned char shared[];
  __shared__ uint64_t barrier_memory[2];
  const Pipeline<WideForwardStage> pipeline(shared, barrier_memory);
  const int group = group_id();
  const auto load = [&](uint32_t base, int head, uint32_t barrier) {
    load_box(base, problem.k, 0, head, barrier);
    load_box(base + WideTile::kBytes, problem.q, 0, head, barrier);
    load_box(base + 2 * WideTile::kBytes, problem.v, 0, head, barrier);
  };
  const auto compute = [&](uint32_t base, int head, auto prefetch) {
    WideQueryTile tile{.length = problem.length, .keys = {base}, .values = {base + 2 * WideTile::kBytes}};
    normalize_owned_keys<kWideWarps>(tile.keys, problem.length, [](int, float) {});
    order_with_engines();
    wait_stores_read();
    __syncthreads();
    prefetch();
    forward_tile(tile, {base + WideTile::kBytes}, problem, head, group);
  };
  pipeline.run(problem.heads, load, compute);
  wait_stores_read();
}

}  // namespace quest::kernels::cuda
