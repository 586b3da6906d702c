#pragma once

#include "kernels/cuda/mma/row_tiles.cuh"
#include "kernels/cuda/resident/gradient_passes.cuh"

namespace quest::kernels::cuda::resident::mma {

// Where all four tensors of a head fit in shared memory, one block owns both its keys and its queries.

__device__ inline void load_row_pair(float (&pair)[2], uint32_t address, int first_row) {
  pair[0] = load_shared_float(address + (first_row + lane_row()) * 4);
  pair[1] = load_shared_float(address + (first_row + lane_row() + 8) * 4);
}

template <typename T, int D, int kMaxWarps>
__global__ void __launch_bounds__(kMaxWarps * 32, 1) head_backward(const __grid_constant__ BackwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const HeadShape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const HeadIndex head = shape.head(blockIdx.x);
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const RowTile<D> keys{base};
  const RowTile<D> values{keys.base + rows * keys.kRowBytes};
  const RowTile<D> queries{values.base + rows * keys.kRowBytes};
  const RowTile<D> grads{queries.base + rows * keys.kRowBytes};
  const uint32_t negative_lse = grads.base + rows * keys.kRowBytes;
  const uint32_t negative_delta = negative_lse + rows * 4;
  const uint32_t key_factors = negative_delta + rows * 4;
  const uint32_t gradient_factors = key_factors + rows * 4;
  copy_rows_async(keys, problem.k[head], length);
  commit_copies();
  copy_rows_async(queries, problem.q[head], length);
  copy_rows_async(grads, problem.grad_out[head], length);
  copy_rows_async(values, problem.v[head], length);
  commit_copies();
  fill_row_constants<D>(negative_lse, negative_delta, problem.grad_out[head], problem.out[head],
                        problem.lse + int64_t{blockIdx.x} * length, length);
  wait_copies<1>();
  tame_owned_keys<T>(keys, length, shape.key_factor, key_factors, [&](int row, float reciprocal_norm) {
    store_shared(gradient_factors + row * 4, reciprocal_norm * shape.scale);
  });
  wait_copies<0>();
  __syncthreads();
  for_each_row_tile<16>(length, [&](int first_row) {
    KeyPass<T, RowTile<D>> own_keys{.shape = shape, .first_key = first_row};
    load_fragments(own_keys.key, keys, first_row);
    load_fragments(own_keys.value, values, first_row);
    load_row_pair(own_keys.factors.score, key_factors, first_row);
    load_row_pair(own_keys.factors.gradient, gradient_factors, first_row);
    own_keys.visit(queries, grads, negative_lse, negative_delta);
    own_keys.store(problem.grad_k[head], problem.grad_v[head]);
    if (shape.causal) own_keys.mend(problem, head);

    QueryPass<T, RowTile<D>> own_queries{.shape = shape, .first_query = first_row};
    load_fragments(own_queries.query, queries, first_row);
    load_fragments(own_queries.grad, grads, first_row);
    load_row_pair(own_queries.negative_lse, negative_lse, first_row);
    load_row_pair(own_queries.negative_delta, negative_delta, first_row);
    own_queries.visit(keys, values, key_factors);
    own_queries.store(problem.grad_q[head]);
    if (shape.causal) own_queries.mend(problem, head);
  });
}

}  // namespace quest::kernels::cuda::resident::mma
