#pragma once

#include "kernels/cuda/short/epilogue.cuh"
#include "kernels/cuda/short/load.cuh"
#include "kernels/cuda/short/mask.cuh"
#include "kernels/cuda/short/softmax.cuh"

namespace quest::kernels::cuda {

template <int kBlocks, typename AnyTile>
__device__ void load_fragments(Fragment (&rows)[kBlocks], AnyTile tile, int first_row) {
#pragma unroll
  for (int depth = 0; depth < kBlocks; ++depth) rows[depth] = load_matrix(rows_first(tile, first_row, depth));
}

template <typename AnyTile>
__device__ void add_products(Accumulator (&acc)[2], const Fragment (&rows)[AnyTile::kDim / 16], AnyTile columns,
                             int first_column) {
#pragma unroll
  for (int depth = 0; depth < AnyTile::kDim / 16; ++depth) {
    const Fragment b = load_matrix(depth_first(columns, first_column, depth));
    multiply_add(acc[0], rows[depth], b.x[0], b.x[1]);
    multiply_add(acc[1], rows[depth], b.x[2], b.x[3]);
  }
}

template <typename AnyTile>
__device__ void add_weighted_rows(Accumulator (&acc)[AnyTile::kDim / 8], const Fragment& weights, AnyTile rows,
                                  int first_row) {
#pragma unroll
  for (int column = 0; column < AnyTile::kDim / 16; ++column) {
    const Fragment b = load_matrix_transposed(rows_first(rows, first_row, column));
    multiply_add(acc[2 * column], weights, b.x[0], b.x[1]);
    multiply_add(acc[2 * column + 1], weights, b.x[2], b.x[3]);
  }
}

__device__ inline void multiply(Accumulator (&target)[2], const Accumulator (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) target[i / 4].x[i % 4] *= factor[i / 4].x[i % 4];
}

template <bool kCausal, bool kTransposed>
__device__ void mask_weights(Accumulator (&weights)[2], int first_row, int first_column, int length) {
#pragma unroll
  for (int block = 0; block < 2; ++block) {
    mask_block<kCausal, kTransposed>(weights[block], first_row, first_column + 8 * block, length,
                                     [](float& weight) { weight = 0; });
  }
}

__device__ inline void spread_over_columns(Accumulator (&acc)[2], uint32_t address) {
#pragma unroll
  for (int block = 0; block < 2; ++block) {
    const float2 x = load_shared_float2(address + (8 * block + lane_column()) * 4);
    acc[block] = {x.x, x.y, x.x, x.y};
  }
}

// One warp owns 16 keys and visits every query: score tiles are transposed, so that the weights are at once the left
// operand of the products with grad_out and q.
template <bool kCausal, typename AnyTile>
struct KeyPass {
  static constexpr int D = AnyTile::kDim;
  int first_key;
  int length;
  Fragment key[D / 16];
  Fragment value[D / 16];
  Accumulator key_acc[D / 8];
  Accumulator value_acc[D / 8];

  // negative_lse (in units of log2) and negative_delta: shared memory, one float per query.
  __device__ void visit(AnyTile queries, AnyTile grads, uint32_t negative_lse, uint32_t negative_delta) {
#pragma unroll
    for (auto& block : key_acc) block = {0, 0, 0, 0};
#pragma unroll
    for (auto& block : value_acc) block = {0, 0, 0, 0};
#pragma unroll 1
    for (int first_query = kCausal ? first_key : 0; first_query < length; first_query += 16) {
      Accumulator weights[2];
      Accumulator score_grads[2];
      spread_over_columns(weights, negative_lse + first_query * 4);
      spread_over_columns(score_grads, negative_delta + first_query * 4);
      add_products(weights, key, queries, first_query);
      add_products(score_grads, value, grads, first_query);
      exponentiate(weights[0]);
      exponentiate(weights[1]);
      if (kCausal && first_query == first_key) mask_weights<true, true>(weights, first_key, first_query, length);
      multiply(score_grads, weights);
      add_weighted_rows(value_acc, pack(weights[0], weights[1]), grads, first_query);
      add_weighted_rows(key_acc, pack(score_grads[0], score_grads[1]), queries, first_query);
    }
  }

  __device__ void store(__nv_bfloat16* grad_k, __nv_bfloat16* grad_v, const float (&reciprocal_norm)[2]) {
    const float one[2] = {1, 1};
    store_rows(grad_v, value_acc, one, first_key, length);
    project_off_keys(key_acc, key);
    store_rows(grad_k, key_acc, reciprocal_norm, first_key, length);
  }
};

// One warp owns 16 queries and visits every key, computing the scores a second time: cheaper than exchanging them.
template <bool kCausal, typename AnyTile>
struct QueryPass {
  static constexpr int D = AnyTile::kDim;
  int first_query;
  int length;
  Fragment query[D / 16];
  Fragment grad[D / 16];
  float negative_lse[2];
  float negative_delta[2];
  Accumulator acc[D / 8];

  __device__ void visit(AnyTile keys, AnyTile values) {
#pragma unroll
    for (auto& block : acc) block = {0, 0, 0, 0};
    const int key_end = kCausal ? min(length, first_query + 16) : length;
#pragma unroll 1
    for (int first_key = 0; first_key < key_end; first_key += 16) {
      Accumulator weights[2];
      Accumulator score_grads[2];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        weights[i / 4].x[i % 4] = negative_lse[i % 4 / 2];
        score_grads[i / 4].x[i % 4] = negative_delta[i % 4 / 2];
      }
      add_products(weights, query, keys, first_key);
      add_products(score_grads, grad, values, first_key);
      exponentiate(weights[0]);
      exponentiate(weights[1]);
      if (first_key + 16 > length || (kCausal && first_key == first_query)) {
        mask_weights<kCausal, false>(weights, first_query, first_key, length);
      }
      multiply(score_grads, weights);
      add_weighted_rows(acc, pack(score_grads[0], score_grads[1]), keys, first_key);
    }
  }

  __device__ void store(__nv_bfloat16* grad_q) {
    const float ln2[2] = {kLn2, kLn2};
    store_rows(grad_q, acc, ln2, first_query, length);
  }
};

}  // namespace quest::kernels::cuda
