#pragma once

#include "kernels/cuda/short/backward_head.cuh"
#include "kernels/cuda/short/gradient_passes.cuh"

namespace quest::kernels::cuda {

__device__ inline void load_row_pair(float (&pair)[2], uint32_t address, int first_row) {
  pair[0] = load_shared_float(address + (first_row + lane_row()) * 4);
  pair[1] = load_shared_float(address + (first_row + lane_row() + 8) * 4);
}

// One block owns one head: dK and dV accumulate in registers of the warp that owns the keys, dQ in those of the warp
// that owns the queries; nothing is shared between blocks and no sum depends on scheduling.
template <int D, int kRows, int kWarps, int kMinBlocks, bool kCausal>
__global__ void __launch_bounds__(kWarps * 32, kMinBlocks) short_backward(BackwardProblem problem) {
  extern __shared__ __align__(128) unsigned char shared[];
  using HeadTile = Tile<D, kRows>;
  const Head<HeadTile> head(static_cast<uint32_t>(__cvta_generic_to_shared(shared)), problem.length);
  load_head<kWarps>(head, problem);
  const int64_t head_offset = int64_t{blockIdx.x} * head.length * D;
#pragma unroll 1
  for (int turn = 0; turn * kWarps < kRows / 16; ++turn) {
    const int first_row = alternating_tile<kWarps>(turn) * 16;
    if (first_row >= head.length) continue;
    float norm[2];
    load_row_pair(norm, head.reciprocal_norm, first_row);
    KeyPass<kCausal, HeadTile> keys{.first_key = first_row, .length = head.length};
    load_fragments(keys.key, head.keys, first_row);
    load_fragments(keys.value, head.values, first_row);
    keys.visit(head.queries, head.grads, head.negative_lse, head.negative_delta);
    keys.store(problem.grad_k + head_offset, problem.grad_v + head_offset, norm);

    QueryPass<kCausal, HeadTile> queries{.first_query = first_row, .length = head.length};
    load_fragments(queries.query, head.queries, first_row);
    load_fragments(queries.grad, head.grads, first_row);
    load_row_pair(queries.negative_lse, head.negative_lse, first_row);
    load_row_pair(queries.negative_delta, head.negative_delta, first_row);
    queries.visit(head.keys, head.values);
    queries.store(problem.grad_q + head_offset);
  }
}

}  // namespace quest::kernels::cuda
