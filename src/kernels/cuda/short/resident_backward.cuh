#pragma once

#include "kernels/cuda/short/gradient_passes.cuh"

namespace quest::kernels::cuda {

// Longer heads of few dimensions: half the blocks keep a head's queries and output gradients in shared memory and own
// its keys, the other half keep unit keys and values and own its queries. What a warp owns comes straight from global
// memory, so that shared memory holds two tensors instead of four.

template <int D, int kRows>
inline constexpr int kResidentBytes = 2 * Tile<D, kRows>::kBytes + 2 * kRows * static_cast<int>(sizeof(float));

template <int D>
__device__ void load_global_fragments(Fragment (&rows)[D], const __nv_bfloat16* source, int first_row, int length) {
  RowFetch<D * 16> fetch;
  fetch.start(source, first_row, length);
  fetch.finish(rows);
}

// Turns 16 keys in registers into log2(e) k / |k| and returns 1 / |k| of both row halves.
template <int kBlocks>
__device__ void normalize_fragments(Fragment (&key)[kBlocks], float (&reciprocal_norm)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t words[2 * kBlocks];
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) words[i] = key[i / 2].x[half + 2 * (i % 2)];
    const KeyScale scale = key_scale(words);
    scale_words(words, scale.power, scale.reciprocal * kLog2E);
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) key[i / 2].x[half + 2 * (i % 2)] = words[i];
    reciprocal_norm[half] = scale.reciprocal * scale.power;
  }
}

// Row constants of the whole head; rows beyond length get weight zero through lse = +infinity.
template <int kWarps, int D, int kRows>
__device__ void fill_resident_constants(Tile<D, kRows> grads, uint32_t negative_lse, uint32_t negative_delta,
                                        const __nv_bfloat16* out, const float* lse, int length) {
#pragma unroll 4
  for (int step = 0; step < kOwnedSteps<kRows, kWarps>; ++step) {
    const int row = owned_row<kWarps>(step);
    float sum = 0;
#pragma unroll
    for (int chunk = lane_id() % 4; chunk < grads.kChunks; chunk += 4) {
      if (row >= length) continue;
      const uint4 a = *reinterpret_cast<const uint4*>(out + row * D + chunk * 8);
      const uint4 b = load_shared(grads.chunk_address(row, chunk));
      sum = dot_pair(a.x, b.x, dot_pair(a.y, b.y, dot_pair(a.z, b.z, dot_pair(a.w, b.w, sum))));
    }
    sum = quad_sum(sum);
    if (row < round_up(length, 16) && lane_id() % 4 == 0) {
      store_shared(negative_delta + row * 4, -sum);
      store_shared(negative_lse + row * 4, row < length ? -lse[row] * kLog2E : -INFINITY);
    }
  }
}

template <int kWarps, bool kCausal, int D, int kRows>
__device__ void own_keys(const BackwardProblem& problem, int64_t head, uint32_t base) {
  const int length = problem.length;
  const int64_t offset = head * length * D;
  const Tile<D, kRows> queries{base};
  const Tile<D, kRows> grads{base + queries.kBytes};
  const uint32_t negative_lse = base + 2 * queries.kBytes;
  const uint32_t negative_delta = negative_lse + kRows * 4;
  copy_rows_async<kWarps>(queries, problem.q + offset, length);
  copy_rows_async<kWarps>(grads, problem.grad_out + offset, length);
  commit_copies();
  wait_copies<0>();
  fill_resident_constants<kWarps>(grads, negative_lse, negative_delta, problem.out + offset,
                                  problem.lse + head * length, length);
  __syncthreads();
#pragma unroll 1
  for (int turn = 0; turn * kWarps < kRows / 16; ++turn) {
    KeyPass<kCausal, Tile<D, kRows>> pass{.first_key = alternating_tile<kWarps>(turn) * 16, .length = length};
    if (pass.first_key >= length) continue;
    load_global_fragments(pass.key, problem.k + offset, pass.first_key, length);
    load_global_fragments(pass.value, problem.v + offset, pass.first_key, length);
    float norm[2];
    normalize_fragments(pass.key, norm);
    pass.visit(queries, grads, negative_lse, negative_delta);
    pass.store(problem.grad_k + offset, problem.grad_v + offset, norm);
  }
}

template <int kWarps, bool kCausal, int D, int kRows>
__device__ void own_queries(const BackwardProblem& problem, int64_t head, uint32_t base) {
  const int length = problem.length;
  const int64_t offset = head * length * D;
  const Tile<D, kRows> keys{base};
  const Tile<D, kRows> values{base + keys.kBytes};
  copy_rows_async<kWarps>(keys, problem.k + offset, length);
  copy_rows_async<kWarps>(values, problem.v + offset, length);
  commit_copies();
  wait_copies<0>();
  normalize_owned_keys<kWarps>(keys, length, [](int, float) {});
  __syncthreads();
#pragma unroll 1
  for (int turn = 0; turn * kWarps < kRows / 16; ++turn) {
    QueryPass<kCausal, Tile<D, kRows>> pass{.first_query = alternating_tile<kWarps>(turn) * 16, .length = length};
    if (pass.first_query >= length) continue;
    Fragment out[D / 16];
    load_global_fragments(pass.query, problem.q + offset, pass.first_query, length);
    load_global_fragments(pass.grad, problem.grad_out + offset, pass.first_query, length);
    load_global_fragments(out, problem.out + offset, pass.first_query, length);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = pass.first_query + lane_row() + 8 * half;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < D / 8; ++i) {
        sum = dot_pair(out[i / 2].x[half + 2 * (i % 2)], pass.grad[i / 2].x[half + 2 * (i % 2)], sum);
      }
      pass.negative_delta[half] = -quad_sum(sum);
      pass.negative_lse[half] = row < length ? -problem.lse[head * length + row] * kLog2E : -INFINITY;
    }
    pass.visit(keys, values);
    pass.store(problem.grad_q + offset);
  }
}

template <int D, int kRows, int kWarps, bool kCausal>
__global__ void __launch_bounds__(kWarps * 32, 1) resident_backward(BackwardProblem problem) {
  extern __shared__ __align__(128) unsigned char shared[];
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int64_t head = blockIdx.x / 2;
  if (blockIdx.x % 2 == 0) {
    own_keys<kWarps, kCausal, D, kRows>(problem, head, base);
  } else {
    own_queries<kWarps, kCausal, D, kRows>(problem, head, base);
  }
}

}  // namespace quest::kernels::cuda
