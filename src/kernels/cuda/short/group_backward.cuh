#pragma once

#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/short/group_passes.cuh"
#include "kernels/cuda/short/resident_backward.cuh"

namespace quest::kernels::cuda::short_sequence {

// The blocks of resident_backward with warpgroups in place of warps.

// The 16 rows of two tensors that a warp owns next, on their way through its own part of shared memory.
template <typename T, int D>
struct NextRows {
  static constexpr int kTileBytes = 16 * RowTile<D>::kRowBytes;
  static constexpr int kBytes = 2 * kTileBytes;
  RowTile<D> first;
  RowTile<D> second;

  __device__ explicit NextRows(uint32_t memory_of_block) {
    first = {memory_of_block + warp_id() * kBytes};
    second = {first.base + kTileBytes};
  }

  __device__ void start(Rows<const T> first_source, Rows<const T> second_source, int first_row, int length) const {
#pragma unroll
    for (int i = 0; i < 16 * D / 8 / 32; ++i) {
      const int row = (32 * i + lane_id()) / (D / 8);
      const int chunk = (32 * i + lane_id()) % (D / 8);
      const bool valid = first_row + row < length;
      const int source_row = valid ? first_row + row : 0;
      copy_chunk_async(first.chunk_address(row, chunk), first_source[source_row] + chunk * 8, valid);
      copy_chunk_async(second.chunk_address(row, chunk), second_source[source_row] + chunk * 8, valid);
    }
    commit_copies();
  }

  __device__ void finish(Fragment (&first_rows)[D / 16], Fragment (&second_rows)[D / 16]) const {
    wait_copies<0>();
    __syncwarp();
    load_fragments(first_rows, first, 0);
    load_fragments(second_rows, second, 0);
    __syncwarp();
  }
};

// Calls visit(first row of the group, first row of this warp, that of its next group).
template <typename Visit>
__device__ void for_each_group(int length, Visit visit) {
  const int step = blockDim.x / 128 * kGroupRows;
#pragma unroll 1
  for (int first = group_id() * kGroupRows; first < length; first += step) {
    const int own = first + warp_id() % 4 * 16;
    visit(first, own, own + step);
  }
}

template <typename T, int D, bool kCausal>
__device__ void own_keys_in_groups(const BackwardProblem<T>& problem, HeadIndex head, const float* lse, uint32_t base) {
  const Shape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const ColumnTile<D> queries(base, rows);
  const ColumnTile<D> grads(base + queries.bytes(rows), rows);
  const uint32_t negative_lse = base + 2 * queries.bytes(rows);
  const uint32_t negative_delta = negative_lse + rows * 4;
  const NextRows<T, D> next(negative_delta + rows * 4);
  next.start(problem.k[head], problem.v[head], warp_id() * 16, length);
  copy_rows_async(queries, problem.q[head], length);
  copy_rows_async(grads, problem.grad_out[head], length);
  commit_copies();
  fill_row_constants<D>(negative_lse, negative_delta, problem.grad_out[head], problem.out[head], lse, length);
  wait_copies<0>();
  order_with_engines();
  __syncthreads();
  for_each_group(length, [&](int first_of_group, int first_key, int next_key) {
    KeyPass<T, ColumnTile<D>> pass{.shape = shape, .first_key = first_key};
    next.finish(pass.key, pass.value);
    next.start(problem.k[head], problem.v[head], next_key, length);
    pass.factors = tame_fragments<T>(pass.key, first_key, shape);
    KeyGroup<T, D, kCausal>{pass, queries, grads, negative_lse, negative_delta}.visit(first_of_group);
    pass.store(problem.grad_k[head], problem.grad_v[head]);
    if constexpr (kCausal) pass.mend(problem, head);
  });
}

template <typename T, int D, bool kCausal>
__device__ void own_queries_in_groups(const BackwardProblem<T>& problem, HeadIndex head, const float* lse,
                                      uint32_t base) {
  const Shape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const ColumnTile<D> keys(base, rows);
  const ColumnTile<D> values(base + keys.bytes(rows), rows);
  const uint32_t key_factors = base + 2 * keys.bytes(rows);
  const NextRows<T, D> next(key_factors + rows * 4);
  RowFetch<T, D> next_out;
  next.start(problem.q[head], problem.grad_out[head], warp_id() * 16, length);
  next_out.start(problem.out[head], warp_id() * 16, length);
  copy_rows_async(keys, problem.k[head], length);
  commit_copies();
  copy_rows_async(values, problem.v[head], length);
  commit_copies();
  wait_copies<1>();
  tame_owned_keys<T>(keys, length, shape.key_factor, key_factors, kKeepNothing);
  wait_copies<0>();
  order_with_engines();
  __syncthreads();
  for_each_group(length, [&](int first_of_group, int first_query, int next_query) {
    QueryPass<T, ColumnTile<D>> pass{.shape = shape, .first_query = first_query};
    Fragment out[D / 16];
    next.finish(pass.query, pass.grad);
    next_out.finish(out);
    next.start(problem.q[head], problem.grad_out[head], next_query, length);
    next_out.start(problem.out[head], next_query, length);
    pass.take_row_constants(out, lse);
    QueryGroup<T, D, kCausal>{pass, keys, values, key_factors}.visit(first_of_group);
    pass.store(problem.grad_q[head]);
    if constexpr (kCausal) pass.mend(problem, head);
  });
}

template <typename T, int D>
constexpr int group_shared_bytes(int rows, int groups) {
  return 2 * ColumnTile<D>::bytes(rows) + 2 * rows * static_cast<int>(sizeof(float)) +
         groups * 4 * NextRows<T, D>::kBytes;
}

template <typename T, int D, bool kCausal>
__global__ void __launch_bounds__(256, 1) group_backward(const __grid_constant__ BackwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const BlockRole role(problem);
  if (role.owns_keys) {
    own_keys_in_groups<T, D, kCausal>(problem, role.head, role.lse, base);
  } else {
    own_queries_in_groups<T, D, kCausal>(problem, role.head, role.lse, base);
  }
}

}  // namespace quest::kernels::cuda::short_sequence
