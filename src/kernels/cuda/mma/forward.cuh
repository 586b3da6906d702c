#pragma once

#include "kernels/cuda/mma/row_tiles.cuh"
#include "kernels/cuda/resident/epilogue.cuh"
#include "kernels/cuda/resident/load.cuh"
#include "kernels/cuda/resident/query_tile.cuh"

namespace quest::kernels::cuda::resident::mma {

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
__global__ void __launch_bounds__(kMaxWarps * 32, 1) mma_forward(const __grid_constant__ ForwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const HeadShape& shape = problem.shape;
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

}  // namespace quest::kernels::cuda::resident::mma
