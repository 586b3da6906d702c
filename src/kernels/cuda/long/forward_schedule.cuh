#pragma once

// What the forward computes, and which thread block computes which rows.

#include <cstdint>

#include "kernels/attention_problem.h"

namespace quest::kernels::cuda::long_sequence {

struct ForwardTask {
  int heads;
  int heads_per_key_head;
  int queries;
  int keys;
  int value_dim;
  bool causal;
  float factor;  // from scores to exponents of two
  float limit;   // of the bound of a row's exponents, up to which no running maximum is needed
  int row_blocks;
  int items;
  void* out;
  std::int64_t out_batch_stride;
  std::int64_t out_head_stride;
  std::int64_t out_row_stride;
  float* lse;
  // As the tensor maps describe them.
  Input q;
  Input k;
  Input v;
  int dim;
  float scale;
};

struct RowBlock {
  int batch;
  int head;
  int first_row;
};

// The row blocks of this thread block. Causal rows differ in length, so the longest goes with the shortest; blocks of
// one head follow each other, so that its keys stay in the cache.
template <int kQueries, typename Visit>
__device__ void for_each_row_block(const ForwardTask& task, Visit visit) {
  const int per_head = task.causal ? (task.row_blocks + 1) / 2 : task.row_blocks;
  for (int item = blockIdx.x; item < task.items; item += gridDim.x) {
    const int head = item / per_head;
    const int shortest = item % per_head;
    const int longest = task.row_blocks - 1 - shortest;
    const int visits = task.causal && longest != shortest ? 2 : 1;
#pragma unroll 1
    for (int i = 0; i < visits; ++i)
      visit(RowBlock{head / task.heads, head % task.heads, (i + 1 < visits ? longest : shortest) * kQueries});
  }
}

// How many tiles of keys the last of `rows` rows sees, those past the end left out.
template <int kKeys>
__device__ int tile_count(const ForwardTask& task, int first_row, int rows) {
  if (first_row >= task.queries) return 0;
  const int visible = task.causal ? min(task.keys, min(first_row + rows, task.queries)) : task.keys;
  return (visible + kKeys - 1) / kKeys;
}

}  // namespace quest::kernels::cuda::long_sequence
