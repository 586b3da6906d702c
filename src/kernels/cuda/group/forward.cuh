#pragma once

#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/group/groups.cuh"
#include "kernels/cuda/resident/query_tile.cuh"

namespace quest::kernels::cuda::resident::group {

// mma_forward with warpgroups in place of warps. Not causal: the hidden halves of 64 x 64 scores cost what there is
// to gain.

template <typename T, int D>
struct GroupOutput {
  QueryTile<T, ColumnTile<D>, 1, GivenKeys>& queries;
  Accumulator acc[D / 8];
  RowPair sum;

  __device__ bool active() const { return queries.first_row < queries.shape.length; }

  __device__ void attend() {
    sum = {0, 0};
#pragma unroll
    for (auto& block : acc) block = {0, 0, 0, 0};
    const int length = queries.shape.length;
    int first = 0;
#pragma unroll 1
    for (; first + kGroupRows <= length; first += kGroupRows) add_keys<kGroupRows, false>(first);
    add_last_columns<kGroupRows>(first, length, [&]<int kKeys>(int key) { add_keys<kKeys, true>(key); });
    sum = {quad_sum(sum.x[0]), quad_sum(sum.x[1])};
  }

  template <int kKeys, bool kMasked>
  __device__ void add_keys(int first_key) {
    Accumulator scores[kKeys / 8];
    open_products();
    start_products<T>(scores, queries.query[0], queries.keys, first_key);
    commit_products();
    wait_products();
    if (active()) weigh<kMasked>(scores, first_key);
    Fragment weights[(kKeys + 15) / 16];
    pack_all<kKeys, T>(weights, scores);
    add_to_sums(weights);
    open_products();
    start_weighted_rows<T>(acc, weights, queries.values, first_key);
    commit_products();
    wait_products();
  }

  template <bool kMasked, int kBlocks>
  __device__ void weigh(Accumulator (&scores)[kBlocks], int first_key) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const float2 factors = queries.lengths.factors(first_key + 8 * block);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& x = scores[block].x[i];
        x = fmaf(x, i % 2 == 0 ? factors.x : factors.y, -queries.offset[0].x[i / 2]);
      }
      if constexpr (kMasked) {
        mask_block<false>(scores[block], queries.first_row, first_key + 8 * block, queries.shape,
                          [](float& score) { score = -INFINITY; });
      }
      exponentiate(scores[block]);
    }
  }

  // Of the weights as rounded: a row of one key returns its value unchanged.
  template <int kCount>
  __device__ void add_to_sums(const Fragment (&weights)[kCount]) {
#pragma unroll
    for (int i = 0; i < 4 * kCount; ++i) {
      const uint32_t word = weights[i / 4].x[i % 4];
      sum.x[i % 2] += low_half<T>(word) + high_half<T>(word);
    }
  }
};

template <typename T, int D>
constexpr int group_forward_bytes(int rows, int groups) {
  return 2 * ColumnTile<D>::bytes(rows) + rows * static_cast<int>(sizeof(float)) + groups * 4 * NextRows<T, D>::kBytes;
}

template <int D>
constexpr int kForwardGroups = D <= 80 ? 4 : 3;

template <typename T, int D>
__global__ void __launch_bounds__(kForwardGroups<D> * 128, 1)
    group_forward(const __grid_constant__ ForwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const HeadShape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const HeadIndex head = shape.head(blockIdx.x);
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const ColumnTile<D> keys(base, rows);
  const ColumnTile<D> values(base + keys.bytes(rows), rows);
  const uint32_t factors = base + 2 * keys.bytes(rows);
  const NextRows<T, D> next(factors + rows * 4, 0, 1);
  copy_rows_async(keys, problem.k[head], length);
  commit_copies();
  copy_rows_async(values, problem.v[head], length);
  commit_copies();
  next.start(problem.q[head], warp_id() * 16, length);
  wait_copies<2>();
  tame_owned_keys<T>(keys, length, shape.key_factor, factors, kKeepNothing);
  wait_copies<0>();
  order_with_engines();
  __syncthreads();
  for_each_group(length, [&](int, int first_row, int next_row) {
    QueryTile<T, ColumnTile<D>, 1, GivenKeys> queries{
        .shape = shape, .lengths = {factors}, .keys = keys, .values = values, .first_row = first_row};
    GroupOutput<T, D> output{.queries = queries};
    next.finish(queries.query[0]);
    next.start(problem.q[head], next_row, length);
    queries.use_bound();
    output.attend();
    if (meet_any(group_id() + 1, 128, output.active() && !resolved<T>(output.sum, length))) {
      if (output.active()) queries.use_largest_score();
      output.attend();
    }
    store_rows(problem.out[head], output.acc, reciprocals(output.sum).x, first_row, length);
    store_lse(problem.lse + int64_t{blockIdx.x} * length, queries.offset[0], output.sum, first_row, length);
  });
}

}  // namespace quest::kernels::cuda::resident::group
