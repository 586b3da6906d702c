#pragma once

#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/group/passes.cuh"
#include "kernels/cuda/resident/block_role.cuh"

namespace quest::kernels::cuda::resident::group {

// The blocks of split_backward with warpgroups in place of warps.

template <typename T, int D, bool kCausal>
__device__ void own_keys_in_groups(const BackwardProblem<T>& problem, HeadIndex head, const float* lse, uint32_t base) {
  const HeadShape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const ColumnTile<D> queries(base, rows);
  const ColumnTile<D> grads(base + queries.bytes(rows), rows);
  const uint32_t negative_lse = base + 2 * queries.bytes(rows);
  const uint32_t negative_delta = negative_lse + rows * 4;
  const NextRows<T, D> next_keys(negative_delta + rows * 4, 0, 2);
  const NextRows<T, D> next_values(negative_delta + rows * 4, 1, 2);
  next_keys.start(problem.k[head], warp_id() * 16, length);
  next_values.start(problem.v[head], warp_id() * 16, length);
  copy_rows_async(queries, problem.q[head], length);
  copy_rows_async(grads, problem.grad_out[head], length);
  commit_copies();
  fill_row_constants<D>(negative_lse, negative_delta, problem.grad_out[head], problem.out[head], lse, length);
  wait_copies<0>();
  order_with_engines();
  __syncthreads();
  for_each_group(length, [&](int first_of_group, int first_key, int next_key) {
    KeyPass<T, ColumnTile<D>> pass{.shape = shape, .first_key = first_key};
    next_keys.finish(pass.key);
    next_values.finish(pass.value);
    next_keys.start(problem.k[head], next_key, length);
    next_values.start(problem.v[head], next_key, length);
    pass.factors = tame_fragments<T>(pass.key, first_key, shape);
    KeyGroup<T, D, kCausal>{pass, queries, grads, negative_lse, negative_delta}.visit(first_of_group);
    pass.store(problem.grad_k[head], problem.grad_v[head]);
    if constexpr (kCausal) pass.mend(problem, head);
  });
}

template <typename T, int D, bool kCausal>
__device__ void own_queries_in_groups(const BackwardProblem<T>& problem, HeadIndex head, const float* lse,
                                      uint32_t base) {
  const HeadShape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const ColumnTile<D> keys(base, rows);
  const ColumnTile<D> values(base + keys.bytes(rows), rows);
  const uint32_t key_factors = base + 2 * keys.bytes(rows);
  const NextRows<T, D> next_queries(key_factors + rows * 4, 0, 2);
  const NextRows<T, D> next_grads(key_factors + rows * 4, 1, 2);
  RowFetch<T, D> next_out;
  next_queries.start(problem.q[head], warp_id() * 16, length);
  next_grads.start(problem.grad_out[head], warp_id() * 16, length);
  next_out.start(problem.out[head], warp_id() * 16, length);
  load_keys_and_values<T>(keys, values, problem, head, key_factors);
  order_with_engines();
  __syncthreads();
  for_each_group(length, [&](int first_of_group, int first_query, int next_query) {
    QueryPass<T, ColumnTile<D>> pass{.shape = shape, .first_query = first_query};
    Fragment out[D / 16];
    next_queries.finish(pass.query);
    next_grads.finish(pass.grad);
    next_out.finish(out);
    next_queries.start(problem.q[head], next_query, length);
    next_grads.start(problem.grad_out[head], next_query, length);
    next_out.start(problem.out[head], next_query, length);
    pass.take_row_constants(out, lse);
    QueryGroup<T, D, kCausal>{pass, keys, values, key_factors}.visit(first_of_group);
    pass.store(problem.grad_q[head]);
    if constexpr (kCausal) pass.mend(problem, head);
  });
}

inline constexpr int kBackwardGroups = 2;  // at most, of a block

template <typename T, int D>
constexpr int group_backward_bytes(int rows, int groups) {
  return 2 * ColumnTile<D>::bytes(rows) + 2 * rows * static_cast<int>(sizeof(float)) +
         groups * 8 * NextRows<T, D>::kBytes;
}

template <typename T, int D, bool kCausal>
__global__ void __launch_bounds__(kBackwardGroups * 128, 1)
    group_backward(const __grid_constant__ BackwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const BlockRole role(problem);
  if (role.owns_keys) {
    own_keys_in_groups<T, D, kCausal>(problem, role.head, role.lse, base);
  } else {
    own_queries_in_groups<T, D, kCausal>(problem, role.head, role.lse, base);
  }
}

}  // namespace quest::kernels::cuda::resident::group
