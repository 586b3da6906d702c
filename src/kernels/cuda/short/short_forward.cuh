#pragma once

#include "kernels/cuda/short/epilogue.cuh"
#include "kernels/cuda/short/load.cuh"
#include "kernels/cuda/short/mask.cuh"
#include "kernels/cuda/short/row_tiles.cuh"
#include "kernels/cuda/short/softmax.cuh"

namespace quest::kernels::cuda::short_sequence {

// What a product with a key in shared memory is still to be multiplied by: for a lane's two columns.
struct UnitKeys {
  __device__ float2 factors(int) const { return {1, 1}; }
};

struct GivenKeys {
  uint32_t address;  // of scale log2(e) / |k| of every key, in shared memory

  __device__ float2 factors(int first_key) const {
    return load_shared_float2(address + (first_key + lane_column()) * 4);
  }
};

// kRowTiles x 16 queries of one warp against all keys of a head in shared memory.
template <typename T, typename AnyTile, int kRowTiles, typename Lengths>
struct QueryTile {
  static constexpr int D = AnyTile::kDim;
  const Shape& shape;
  Lengths lengths;
  AnyTile keys;
  AnyTile values;
  int first_row = 0;
  Fragment query[kRowTiles][D / 16];
  RowPair offset[kRowTiles];

  // Calls visit(first_key, part) for blocks of 16 keys; only the last ones need a mask.
  template <typename Visit>
  __device__ void for_each_key_block(Visit visit) const {
    const int seen_by_all = shape.visible_keys(first_row);
    const int end = shape.visible_keys(first_row + 16 * kRowTiles - 1);
    int first_key = 0;
#pragma unroll 1
    for (; first_key + 16 <= seen_by_all; first_key += 16) visit(first_key, Part<2, false>{});
#pragma unroll 1
    for (; first_key + most_in_half<D>() < end; first_key += 16) visit(first_key, Part<2, true>{});
    if constexpr (most_in_half<D>() > 0) {
      if (first_key < end) visit(first_key, Part<1, true>{});
    }
  }

  template <typename AnyPart>
  __device__ void scores_of(Accumulator (&scores)[kRowTiles][2], int first_key, AnyPart /*part*/) const {
    constexpr int kBlocks = AnyPart::kBlocks;
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) scores[tile][0] = scores[tile][1] = {};
#pragma unroll
    for (int depth = 0; depth < D / 16; ++depth) {
      const Fragment key = load_matrix(depth_first(keys, first_key, depth));
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
        multiply_add<T>(scores[tile][0], query[tile][depth], key.x[0], key.x[1]);
        if constexpr (kBlocks == 2) multiply_add<T>(scores[tile][1], query[tile][depth], key.x[2], key.x[3]);
      }
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const float2 factors = lengths.factors(first_key + 8 * block);
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& x = scores[tile][block].x[i];
          x = fmaf(x, i % 2 == 0 ? factors.x : factors.y, -offset[tile].x[i / 2]);
        }
      }
    }
    if constexpr (AnyPart::kMasked) {
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          mask_block<false>(scores[tile][block], first_row + 16 * tile, first_key + 8 * block, shape,
                            [](float& score) { score = -INFINITY; });
        }
      }
    }
  }

  __device__ void use_bound() {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      offset[tile] = offset_from_bound<T>(query[tile], shape.key_factor);
    }
  }

  __device__ void use_largest_score() {
    RowPair largest[kRowTiles];
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      offset[tile] = {0, 0};
      largest[tile] = {-INFINITY, -INFINITY};
    }
    for_each_key_block([&](int first_key, auto part) {
      Accumulator scores[kRowTiles][2];
      scores_of(scores, first_key, part);
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4 * part.kBlocks; ++i) {
          float& row = largest[tile].x[i % 4 / 2];
          row = fmaxf(row, scores[tile][i / 4].x[i % 4]);
        }
      }
    });
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      offset[tile] = {quad_max(largest[tile].x[0]), quad_max(largest[tile].x[1])};
    }
  }
};

__device__ inline RowPair reciprocals(RowPair sum) { return {reciprocal_fast(sum.x[0]), reciprocal_fast(sum.x[1])}; }

__device__ inline void store_lse(float* lse, RowPair offset, RowPair total, int first_row, int length) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + lane_row();
    if (row < length && lane_id() % 4 == 0) lse[row] = (offset.x[half] + __log2f(total.x[half])) * kLn2;
  }
}

template <typename T, typename AnyTile, int kRowTiles>
struct QueryOutput {
  static constexpr int D = AnyTile::kDim;
  using Queries = QueryTile<T, AnyTile, kRowTiles, GivenKeys>;
  Accumulator acc[kRowTiles][D / 8];
  Accumulator sums[kRowTiles];

  __device__ RowPair total(int tile) const { return {sums[tile].x[0], sums[tile].x[2]}; }

  __device__ void attend(const Queries& queries) {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      sums[t] = {0, 0, 0, 0};
#pragma unroll
      for (auto& block : acc[t]) block = {0, 0, 0, 0};
    }
    queries.for_each_key_block([&](int first_key, auto part) {
      Accumulator scores[kRowTiles][2];
      queries.scores_of(scores, first_key, part);
      Fragment weights[kRowTiles];
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        exponentiate(scores[t][0]);
        if constexpr (part.kBlocks == 2) exponentiate(scores[t][1]);
        weights[t] = pack<T>(scores[t][0], scores[t][1]);
        add_row_sums<T>(sums[t], weights[t]);
      }
#pragma unroll
      for (int column = 0; column < D / 16; ++column) {
        const Fragment value = load_matrix_transposed(rows_first(queries.values, first_key, column));
#pragma unroll
        for (int t = 0; t < kRowTiles; ++t) {
          multiply_add<T>(acc[t][2 * column], weights[t], value.x[0], value.x[1]);
          multiply_add<T>(acc[t][2 * column + 1], weights[t], value.x[2], value.x[3]);
        }
      }
    });
  }

  __device__ bool is_resolved(int length) const {
    bool all = true;
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) all = all && resolved<T>(total(t), length);
    return __all_sync(0xffffffffu, all);
  }

  __device__ void store(const Queries& queries, Rows<T> out, float* lse) const {
    const int length = queries.shape.length;
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      const int first_row = queries.first_row + 16 * t;
      store_rows(out, acc[t], reciprocals(total(t)).x, first_row, length);
      store_lse(lse, queries.offset[t], total(t), first_row, length);
    }
  }

  // Rows beside a hidden value that is not finite.
  __device__ void mend(const Queries& queries, const ForwardProblem<T>& problem, HeadIndex head) const {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      for_each_bit(spoiled_rows(acc[t]), [&](int row) {
        const int query = queries.first_row + 16 * t + row;
        if (query >= queries.shape.length) return;
        const SingleRows<T> rows{single_rows<D>(problem.q[head]), single_rows<D>(problem.k[head]),
                                 single_rows<D>(problem.v[head]), queries.shape.length, queries.shape.scale};
        single_rows<D>(problem.out[head]).store(query, rows.output(query));
      });
    }
  }
};

// One block owns one head; its keys and values never leave shared memory.
template <typename T, int D, int kMaxWarps, int kRowTiles>
__global__ void __launch_bounds__(kMaxWarps * 32, 1) short_forward(const __grid_constant__ ForwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Shape& shape = problem.shape;
  const HeadIndex head = shape.head(blockIdx.x);
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int tile_bytes = round_up(shape.length, 16) * RowTile<D>::kRowBytes;
  QueryTile<T, RowTile<D>, kRowTiles, GivenKeys> queries{
      .shape = shape, .lengths = {base + 2 * tile_bytes}, .keys = {base}, .values = {base + tile_bytes}};
  copy_rows_async(queries.keys, problem.k[head], shape.length);
  commit_copies();
  copy_rows_async(queries.values, problem.v[head], shape.length);
  commit_copies();
  wait_copies<1>();
  tame_owned_keys<T>(queries.keys, shape.length, shape.key_factor, queries.lengths.address, kKeepNothing);
  wait_copies<0>();
  __syncthreads();

  for_each_row_tile<16 * kRowTiles>(shape.length, [&](int first_row) {
    queries.first_row = first_row;
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      load_global_fragments(queries.query[t], problem.q[head], first_row + 16 * t, shape.length);
    }
    queries.use_bound();
    QueryOutput<T, RowTile<D>, kRowTiles> output;
#pragma unroll 1
    for (bool exact = false;; exact = true) {
      output.attend(queries);
      if (exact || output.is_resolved(shape.length)) break;
      queries.use_largest_score();
    }
    output.store(queries, problem.out[head], problem.lse + int64_t{blockIdx.x} * shape.length);
    if (shape.causal) output.mend(queries, problem, head);
  });
}

}  // namespace quest::kernels::cuda::short_sequence
