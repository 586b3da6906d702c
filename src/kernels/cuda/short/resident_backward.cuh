#pragma once

#include "kernels/cuda/short/gradient_passes.cuh"
#include "kernels/cuda/short/row_tiles.cuh"

namespace quest::kernels::cuda::short_sequence {

// Half the blocks keep a head's queries and output gradients in shared memory and own its keys, the other half keep
// unit keys and values and own its queries. What a warp owns comes straight from global memory, so that shared memory
// holds two tensors instead of four. No sum depends on scheduling.

// Turns 16 keys in registers into key_factor k / |k|, and norms of both row halves into scale / |k|.
template <typename T, int kBlocks>
__device__ void normalize_fragments(Fragment (&key)[kBlocks], float (&factors)[2], const Shape& shape) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t words[2 * kBlocks];
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) words[i] = key[i / 2].x[half + 2 * (i % 2)];
    const KeyScale scale = key_scale<T>(words);
    scale_words<T>(words, scale.power, scale.reciprocal * shape.key_factor);
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) key[i / 2].x[half + 2 * (i % 2)] = words[i];
    factors[half] = scale.reciprocal_norm() * shape.scale;
  }
}

// Row constants of the whole head; rows beyond length get weight zero through lse = +infinity.
template <typename T, int D>
__device__ void fill_row_constants(RowTile<D> grads, uint32_t negative_lse, uint32_t negative_delta, Rows<const T> out,
                                   const float* lse, int length) {
  const int rows = round_up(length, 16);
#pragma unroll 4
  for (int row = first_owned_row(); row - lane_row() < rows; row += owned_rows_apart()) {
    float sum = 0;
#pragma unroll
    for (int chunk = lane_id() % 4; chunk < grads.kChunks; chunk += 4) {
      if (row >= length) continue;
      const uint4 a = *reinterpret_cast<const uint4*>(out[row] + chunk * 8);
      const uint4 b = load_shared(grads.chunk_address(row, chunk));
      sum = dot_pair<T>(a.x, b.x, dot_pair<T>(a.y, b.y, dot_pair<T>(a.z, b.z, dot_pair<T>(a.w, b.w, sum))));
    }
    sum = quad_sum(sum);
    if (row < rows && lane_id() % 4 == 0) {
      store_shared(negative_delta + row * 4, -sum);
      store_shared(negative_lse + row * 4, row < length ? -lse[row] * kLog2E : -INFINITY);
    }
  }
}

template <typename T, int D>
__device__ void own_keys(const BackwardProblem<T>& problem, HeadIndex head, const float* lse, uint32_t base) {
  const Shape& shape = problem.shape;
  const int length = shape.length;
  const int rows = round_up(length, 16);
  const RowTile<D> queries{base};
  const RowTile<D> grads{base + rows * RowTile<D>::kRowBytes};
  const uint32_t negative_lse = base + 2 * rows * RowTile<D>::kRowBytes;
  const uint32_t negative_delta = negative_lse + rows * 4;
  copy_rows_async(grads, problem.grad_out[head], length);
  copy_rows_async(queries, problem.q[head], length);
  commit_copies();
  wait_copies<0>();
  fill_row_constants(grads, negative_lse, negative_delta, problem.out[head], lse, length);
  __syncthreads();
  for_each_row_tile<16>(length, [&](int first_key) {
    KeyPass<T, RowTile<D>> pass{.shape = shape, .first_key = first_key};
    load_global_fragments(pass.key, problem.k[head], first_key, length);
    load_global_fragments(pass.value, problem.v[head], first_key, length);
    float factors[2];
    normalize_fragments<T>(pass.key, factors, shape);
    pass.visit(queries, grads, negative_lse, negative_delta);
    pass.store(problem.grad_k[head], problem.grad_v[head], factors);
  });
}

template <typename T, int D>
__device__ void own_queries(const BackwardProblem<T>& problem, HeadIndex head, const float* lse, uint32_t base) {
  const Shape& shape = problem.shape;
  const int length = shape.length;
  const RowTile<D> keys{base};
  const RowTile<D> values{base + round_up(length, 16) * RowTile<D>::kRowBytes};
  copy_rows_async(keys, problem.k[head], length);
  commit_copies();
  copy_rows_async(values, problem.v[head], length);
  commit_copies();
  wait_copies<1>();
  normalize_owned_keys<T>(keys, length, shape.key_factor);
  wait_copies<0>();
  __syncthreads();
  for_each_row_tile<16>(length, [&](int first_query) {
    QueryPass<T, RowTile<D>> pass{.shape = shape, .first_query = first_query};
    Fragment out[D / 16];
    load_global_fragments(pass.query, problem.q[head], first_query, length);
    load_global_fragments(pass.grad, problem.grad_out[head], first_query, length);
    load_global_fragments(out, problem.out[head], first_query, length);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_query + lane_row() + 8 * half;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < D / 8; ++i) {
        sum = dot_pair<T>(out[i / 2].x[half + 2 * (i % 2)], pass.grad[i / 2].x[half + 2 * (i % 2)], sum);
      }
      pass.negative_delta[half] = -quad_sum(sum);
      pass.negative_lse[half] = row < length ? -lse[row] * kLog2E : -INFINITY;
    }
    pass.visit(keys, values);
    pass.store(problem.grad_q[head]);
  });
}

template <typename T, int D, int kMaxWarps>
__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    resident_backward(const __grid_constant__ BackwardProblem<T> problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int index = blockIdx.x / 2;
  const HeadIndex head = problem.shape.head(index);
  const float* lse = problem.lse + int64_t{index} * problem.shape.length;
  if (blockIdx.x % 2 == 0) {
    own_keys<T, D>(problem, head, lse, base);
  } else {
    own_queries<T, D>(problem, head, lse, base);
  }
}

}  // namespace quest::kernels::cuda::short_sequence
