#pragma once

#include "kernels/cuda/mma/row_tiles.cuh"
#include "kernels/cuda/resident/block_role.cuh"
#include "kernels/cuda/resident/gradient_passes.cuh"

namespace quest::kernels::cuda::resident::mma {

// Half the blocks keep a head's queries and output gradients in shared memory and own its keys, the other half keep
// keys and values and own its queries. What a warp owns comes straight from global memory, so that shared memory
// holds two tensors instead of four. No sum depends on scheduling.

template <typename T, int D>
__device__ void own_keys(const BackwardProblem<T>& problem, HeadIndex head, const float* lse, uint32_t base) {
  const HeadShape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const RowTile<D> queries{base};
  const RowTile<D> grads{base + rows * RowTile<D>::kRowBytes};
  const uint32_t negative_lse = base + 2 * rows * RowTile<D>::kRowBytes;
  const uint32_t negative_delta = negative_lse + rows * 4;
  copy_rows_async(queries, problem.q[head], length);
  copy_rows_async(grads, problem.grad_out[head], length);
  commit_copies();
  fill_row_constants<D>(negative_lse, negative_delta, problem.grad_out[head], problem.out[head], lse, length);
  wait_copies<0>();
  __syncthreads();
  for_each_row_tile<16>(length, [&](int first_key) {
    KeyPass<T, RowTile<D>> pass{.shape = shape, .first_key = first_key};
    load_global_fragments(pass.key, problem.k[head], first_key, length);
    load_global_fragments(pass.value, problem.v[head], first_key, length);
    pass.factors = tame_fragments<T>(pass.key, first_key, shape);
    pass.visit(queries, grads, negative_lse, negative_delta);
    pass.store(problem.grad_k[head], problem.grad_v[head]);
    if (shape.causal) pass.mend(problem, head);
  });
}

template <typename T, int D>
__device__ void own_queries(const BackwardProblem<T>& problem, HeadIndex head, const float* lse, uint32_t base) {
  const HeadShape& shape = problem.shape;
  const int length = shape.length;
  const RowTile<D> keys{base};
  const int rows = round_up(length, 16);
  const RowTile<D> values{base + rows * RowTile<D>::kRowBytes};
  const uint32_t key_factors = base + 2 * rows * RowTile<D>::kRowBytes;
  load_keys_and_values<T>(keys, values, problem, head, key_factors);
  __syncthreads();
  for_each_row_tile<16>(length, [&](int first_query) {
    QueryPass<T, RowTile<D>> pass{.shape = shape, .first_query = first_query};
    Fragment out[D / 16];
    load_global_fragments(pass.query, problem.q[head], first_query, length);
    load_global_fragments(pass.grad, problem.grad_out[head], first_query, length);
    load_global_fragments(out, problem.out[head], first_query, length);
    pass.take_row_constants(out, lse);
    pass.visit(keys, values, key_factors);
    pass.store(problem.grad_q[head]);
    if (shape.causal) pass.mend(problem, head);
  });
}

template <typename T, int D, int kMaxWarps>
__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    split_backward(const __grid_constant__ BackwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const BlockRole role(problem);
  if (role.owns_keys) {
    own_keys<T, D>(problem, role.head, role.lse, base);
  } else {
    own_queries<T, D>(problem, role.head, role.lse, base);
  }
}

}  // namespace quest::kernels::cuda::resident::mma
