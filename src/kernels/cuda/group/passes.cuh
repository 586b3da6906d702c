#pragma once

#include "kernels/cuda/group/groups.cuh"
#include "kernels/cuda/resident/gradient_passes.cuh"

namespace quest::kernels::cuda::resident::group {

// The gradient passes in groups of four warps.

template <typename T, int D, bool kCausal>
struct KeyGroup {
  static constexpr int kStep = kGroupColumns<D>;
  KeyPass<T, ColumnTile<D>>& pass;
  ColumnTile<D> queries;
  ColumnTile<D> grads;
  uint32_t negative_lse;
  uint32_t negative_delta;

  __device__ void visit(int first_of_group) {
    pass.clear();
    const int length = pass.shape.length;
    int first = 0;
    if constexpr (kCausal) {
      first = first_of_group;
#pragma unroll 1
      for (int last = min(first + kGroupRows, length); first + kStep <= last; first += kStep) {
        add_queries<kStep, true>(first);
      }
    }
#pragma unroll 1
    for (; first + kStep <= length; first += kStep) add_queries<kStep, false>(first);
    add_last_columns<kStep>(first, length, [&]<int kQueries>(int query) { add_queries<kQueries, kCausal>(query); });
  }

  template <int kQueries, bool kMasked>
  __device__ void add_queries(int first_query) {
    constexpr int kBlocks = kQueries / 8;
    Accumulator weights[kBlocks];
    Accumulator score_grads[kBlocks];
    open_products();
    start_products<T>(weights, pass.key, queries, first_query);
    start_products<T>(score_grads, pass.value, grads, first_query);
    commit_products();
    wait_products();
    if (pass.first_key < pass.shape.length) weigh<kMasked>(weights, score_grads, first_query);
    Fragment packed_weights[(kBlocks + 1) / 2];
    Fragment packed_grads[(kBlocks + 1) / 2];
    pack_all<kQueries, T>(packed_weights, weights);
    pack_all<kQueries, T>(packed_grads, score_grads);
    open_products();
    start_weighted_rows<T>(pass.value_acc, packed_weights, grads, first_query);
    start_weighted_rows<T>(pass.key_acc, packed_grads, queries, first_query);
    commit_products();
    wait_products();
  }

  template <bool kMasked, int kBlocks>
  __device__ void weigh(Accumulator (&weights)[kBlocks], Accumulator (&score_grads)[kBlocks], int first_query) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const int column = (first_query + 8 * block + lane_column()) * 4;
      const float2 lse = load_shared_float2(negative_lse + column);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& x = weights[block].x[i];
        x = exp2_fast(fmaf(x, pass.factors.score[i / 2], i % 2 == 0 ? lse.x : lse.y));
      }
    }
    if constexpr (kMasked) mask_weights<true>(weights, pass.first_key, first_query, pass.shape);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const int column = (first_query + 8 * block + lane_column()) * 4;
      const float2 delta = load_shared_float2(negative_delta + column);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& x = score_grads[block].x[i];
        x = (x + (i % 2 == 0 ? delta.x : delta.y)) * weights[block].x[i];
      }
    }
  }
};

template <typename T, int D, bool kCausal>
struct QueryGroup {
  static constexpr int kStep = kGroupColumns<D>;
  QueryPass<T, ColumnTile<D>>& pass;
  ColumnTile<D> keys;
  ColumnTile<D> values;
  uint32_t key_factors;

  __device__ void visit(int first_of_group) {
    pass.clear();
    const int length = pass.shape.length;
    const int seen_by_all = kCausal ? first_of_group : length;
    const int end = kCausal ? min(first_of_group + kGroupRows, length) : length;
    int first = 0;
#pragma unroll 1
    for (; first + kStep <= seen_by_all; first += kStep) add_keys<kStep, false>(first);
    if constexpr (kCausal) {
#pragma unroll 1
      for (; first + kStep <= end; first += kStep) add_keys<kStep, true>(first);
    }
    add_last_columns<kStep>(first, end, [&]<int kKeys>(int key) { add_keys<kKeys, true>(key); });
  }

  template <int kKeys, bool kMasked>
  __device__ void add_keys(int first_key) {
    constexpr int kBlocks = kKeys / 8;
    Accumulator weights[kBlocks];
    Accumulator score_grads[kBlocks];
    open_products();
    start_products<T>(weights, pass.query, keys, first_key);
    start_products<T>(score_grads, pass.grad, values, first_key);
    commit_products();
    wait_products();
    if (pass.first_query < pass.shape.length) weigh<kMasked>(weights, score_grads, first_key);
    Fragment packed_grads[(kBlocks + 1) / 2];
    pack_all<kKeys, T>(packed_grads, score_grads);
    open_products();
    start_weighted_rows<T>(pass.acc, packed_grads, keys, first_key);
    commit_products();
    wait_products();
  }

  template <bool kMasked, int kBlocks>
  __device__ void weigh(Accumulator (&weights)[kBlocks], Accumulator (&score_grads)[kBlocks], int first_key) {
    float2 factors[kBlocks];
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      factors[block] = load_shared_float2(key_factors + (first_key + 8 * block + lane_column()) * 4);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& x = weights[block].x[i];
        x = exp2_fast(fmaf(x, i % 2 == 0 ? factors[block].x : factors[block].y, pass.negative_lse[i / 2]));
      }
    }
    if constexpr (kMasked) mask_weights<false>(weights, pass.first_query, first_key, pass.shape);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& x = score_grads[block].x[i];
        x = (x + pass.negative_delta[i / 2]) * weights[block].x[i] * (i % 2 == 0 ? factors[block].x : factors[block].y);
      }
    }
  }
};

}  // namespace quest::kernels::cuda::resident::group
