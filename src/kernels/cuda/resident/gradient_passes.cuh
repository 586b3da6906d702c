#pragma once

#include "kernels/cuda/resident/epilogue.cuh"
#include "kernels/cuda/resident/load.cuh"
#include "kernels/cuda/resident/mask.cuh"
#include "kernels/cuda/resident/softmax.cuh"

namespace quest::kernels::cuda::resident {

template <typename T, int kBlocks, typename AnyTile>
__device__ void add_products(Accumulator (&acc)[2], const Fragment (&rows)[AnyTile::kDim / 16], AnyTile columns,
                             int first_column) {
#pragma unroll
  for (int depth = 0; depth < AnyTile::kDim / 16; ++depth) {
    const Fragment b = load_matrix(depth_first(columns, first_column, depth));
    multiply_add<T>(acc[0], rows[depth], b.x[0], b.x[1]);
    if constexpr (kBlocks == 2) multiply_add<T>(acc[1], rows[depth], b.x[2], b.x[3]);
  }
}

template <typename T, typename AnyTile>
__device__ void add_weighted_rows(Accumulator (&acc)[AnyTile::kDim / 8], const Fragment& weights, AnyTile rows,
                                  int first_row) {
#pragma unroll
  for (int column = 0; column < AnyTile::kDim / 16; ++column) {
    const Fragment b = load_matrix_transposed(rows_first(rows, first_row, column));
    multiply_add<T>(acc[2 * column], weights, b.x[0], b.x[1]);
    multiply_add<T>(acc[2 * column + 1], weights, b.x[2], b.x[3]);
  }
}

__device__ inline void multiply_each(Accumulator (&target)[2], const Accumulator (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) target[i / 4].x[i % 4] *= factor[i / 4].x[i % 4];
}

template <bool kTransposed, int kBlocks>
__device__ void mask_weights(Accumulator (&weights)[kBlocks], int first_row, int first_column, const HeadShape& shape) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    mask_block<kTransposed>(weights[block], first_row, first_column + 8 * block, shape,
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

// How 16 keys in registers relate to unit keys, for both row halves of a lane.
struct KeyFactors {
  float score[2];     // scale log2(e) / |k| of the key at hand
  float gradient[2];  // scale / |k| of the key as given
};

template <typename T, int kBlocks>
__device__ KeyFactors tame_fragments(Fragment (&key)[kBlocks], int first_key, const HeadShape& shape) {
  KeyFactors factors;
  change_rows(key, [&](int half, auto& words) {
    const KeyScale scale = tame_key<T>(words, first_key + 8 * half + lane_row() < shape.length);
    factors.score[half] = scale.reciprocal * shape.key_factor;
    factors.gradient[half] = scale.reciprocal_norm() * shape.scale;
  });
  return factors;
}

// One warp owns 16 keys and visits every query: score tiles are transposed, so that the weights are at once the left
// operand of the products with grad_out and q.
template <typename T, typename AnyTile>
struct KeyPass {
  static constexpr int D = AnyTile::kDim;
  const HeadShape& shape;
  int first_key;
  Fragment key[D / 16];
  Fragment value[D / 16];
  KeyFactors factors;
  Accumulator key_acc[D / 8];
  Accumulator value_acc[D / 8];

  __device__ void clear() {
#pragma unroll
    for (auto& block : key_acc) block = {0, 0, 0, 0};
#pragma unroll
    for (auto& block : value_acc) block = {0, 0, 0, 0};
  }

  // negative_lse (in units of log2) and negative_delta: shared memory, one float per query.
  __device__ void visit(AnyTile queries, AnyTile grads, uint32_t negative_lse, uint32_t negative_delta) {
    clear();
    int first_query = 0;
    if (shape.causal) {
      add_queries<Part<2, true>>(first_key, queries, grads, negative_lse, negative_delta);
      first_query = first_key + 16;
    }
#pragma unroll 1
    for (; first_query + most_in_half<D>() < shape.length; first_query += 16) {
      add_queries<Part<2, false>>(first_query, queries, grads, negative_lse, negative_delta);
    }
    if constexpr (most_in_half<D>() > 0) {
      if (first_query >= shape.length) return;
      add_queries<Part<1, false>>(first_query, queries, grads, negative_lse, negative_delta);
    }
  }

  template <typename AnyPart>
  __device__ void add_queries(int first_query, AnyTile queries, AnyTile grads, uint32_t negative_lse,
                              uint32_t negative_delta) {
    Accumulator weights[2] = {};
    Accumulator score_grads[2];
    spread_over_columns(score_grads, negative_delta + first_query * 4);
    add_products<T, AnyPart::kBlocks>(weights, key, queries, first_query);
    add_products<T, AnyPart::kBlocks>(score_grads, value, grads, first_query);
#pragma unroll
    for (int block = 0; block < AnyPart::kBlocks; ++block) {
      const float2 lse = load_shared_float2(negative_lse + (first_query + 8 * block + lane_column()) * 4);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& x = weights[block].x[i];
        x = exp2_fast(fmaf(x, factors.score[i / 2], i % 2 == 0 ? lse.x : lse.y));
      }
    }
    if constexpr (AnyPart::kMasked) mask_weights<true>(weights, first_key, first_query, shape);
    multiply_each(score_grads, weights);
    add_weighted_rows<T>(value_acc, pack<T>(weights[0], weights[1]), grads, first_query);
    add_weighted_rows<T>(key_acc, pack<T>(score_grads[0], score_grads[1]), queries, first_query);
  }

  __device__ void store(Rows<T> grad_k, Rows<T> grad_v) {
    const float one[2] = {1, 1};
    store_rows(grad_v, value_acc, one, first_key, shape.length);
    const float unit[2] = {factors.score[0] * factors.score[0] * shape.projection,
                           factors.score[1] * factors.score[1] * shape.projection};
    project_off_keys<T>(key_acc, key, unit);
    store_rows(grad_k, key_acc, factors.gradient, first_key, shape.length);
  }

  // Rows of keys that a query without finite numbers does not see.
  __device__ void mend(const BackwardProblem<T>& problem, HeadIndex head) const {
    for_each_bit(spoiled_rows(key_acc) | spoiled_rows(value_acc), [&](int row) {
      const int index = first_key + row;
      if (index >= shape.length) return;
      const auto gradients = problem.template single_gradients<D>(head);
      SingleRow key_sum;
      SingleRow value_sum;
      gradients.add_to_key(index, shape.length, key_sum, value_sum);
      single_rows<D>(problem.grad_v[head]).store(index, value_sum);
      const UnitKey unit(gradients.rows.k[index]);
      single_rows<D>(problem.grad_k[head]).store(index, projected(key_sum, unit, unit.reciprocal, shape.scale));
    });
  }
};

// One warp owns 16 queries and visits every key, computing the scores a second time: cheaper than exchanging them.
template <typename T, typename AnyTile>
struct QueryPass {
  static constexpr int D = AnyTile::kDim;
  const HeadShape& shape;
  int first_query;
  Fragment query[D / 16];
  Fragment grad[D / 16];
  float negative_lse[2];
  float negative_delta[2];
  Accumulator acc[D / 8];

  __device__ void clear() {
#pragma unroll
    for (auto& block : acc) block = {0, 0, 0, 0};
  }

  __device__ void take_row_constants(const Fragment (&out)[D / 16], const float* lse) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_query + lane_row() + 8 * half;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < D / 8; ++i) {
        sum = dot_pair<T>(out[i / 2].x[half + 2 * (i % 2)], grad[i / 2].x[half + 2 * (i % 2)], sum);
      }
      negative_delta[half] = -quad_sum(sum);
      negative_lse[half] = row < shape.length ? -lse[row] * kLog2E : -INFINITY;
    }
  }

  // key_factors: shared memory, scale log2(e) / |k| of every key.
  __device__ void visit(AnyTile keys, AnyTile values, uint32_t key_factors) {
    clear();
    const int seen_by_all = shape.visible_keys(first_query);
    const int end = shape.visible_keys(first_query + 15);
    int first_key = 0;
#pragma unroll 1
    for (; first_key + 16 <= seen_by_all; first_key += 16) {
      add_keys<Part<2, false>>(first_key, keys, values, key_factors);
    }
    if (first_key + most_in_half<D>() < end) {
      add_keys<Part<2, true>>(first_key, keys, values, key_factors);
    } else if constexpr (most_in_half<D>() > 0) {
      if (first_key < end) add_keys<Part<1, true>>(first_key, keys, values, key_factors);
    }
  }

  template <typename AnyPart>
  __device__ void add_keys(int first_key, AnyTile keys, AnyTile values, uint32_t key_factors) {
    Accumulator weights[2] = {};
    Accumulator score_grads[2];
#pragma unroll
    for (int i = 0; i < 8; ++i) score_grads[i / 4].x[i % 4] = negative_delta[i % 4 / 2];
    add_products<T, AnyPart::kBlocks>(weights, query, keys, first_key);
    add_products<T, AnyPart::kBlocks>(score_grads, grad, values, first_key);
    Accumulator factors[2];
    spread_over_columns(factors, key_factors + first_key * 4);
#pragma unroll
    for (int i = 0; i < 4 * AnyPart::kBlocks; ++i) {
      float& x = weights[i / 4].x[i % 4];
      x = exp2_fast(fmaf(x, factors[i / 4].x[i % 4], negative_lse[i % 4 / 2]));
    }
    if constexpr (AnyPart::kMasked) mask_weights<false>(weights, first_query, first_key, shape);
    multiply_each(score_grads, weights);
    multiply_each(score_grads, factors);
    add_weighted_rows<T>(acc, pack<T>(score_grads[0], score_grads[1]), keys, first_key);
  }

  __device__ void store(Rows<T> grad_q) {
    const float ln2[2] = {kLn2, kLn2};
    store_rows(grad_q, acc, ln2, first_query, shape.length);
  }

  // Rows of queries that do not see a key or value without finite numbers.
  __device__ void mend(const BackwardProblem<T>& problem, HeadIndex head) const {
    for_each_bit(spoiled_rows(acc), [&](int row) {
      const int index = first_query + row;
      if (index >= shape.length) return;
      single_rows<D>(problem.grad_q[head])
          .store(index, problem.template single_gradients<D>(head).query_gradient(index, false));
    });
  }
};

}  // namespace quest::kernels::cuda::resident
