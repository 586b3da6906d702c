// Statistics of attention, from a forward's log-sum-exp. A block owns a tile of queries for what is summed over keys
// and a tile of keys for what is summed over queries, so nothing is added by two blocks.

#include "kernels/cuda/attention.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/place.h"
#include "kernels/cuda/recompute.cuh"

namespace quest::kernels::cuda {
namespace {

struct Task {
  RemainingProblem prepared;
  StatisticsOutputs outputs;
};

template <typename T>
__global__ void __launch_bounds__(kTileThreads, 3) query_statistics(const __grid_constant__ Task task) {
  __shared__ TileStage stage;
  const AttentionProblem& p = task.prepared.problem;
  const StatisticsOutputs& outputs = task.outputs;
  const Place place(p, p.cu_seqlens_q, p.queries, p.heads, kTileSide, blockIdx.x);
  const PreparedHead head(task.prepared, place.sequence, place.head);
  const std::int64_t first_row = static_cast<std::int64_t>(place.tile) * kTileSide;
  const std::int64_t last_row = min(first_row + kTileSide, head.sequence.queries) - 1;
  if (last_row < first_row) return;

  const TileRows<T> queries = head.query_tile<T>(p.q, p.dim, first_row);
  LogSumExp lse[kPatchRows];
  float largest[kPatchRows];
  float entropy[kPatchRows];
#pragma unroll
  for (int i = 0; i < kPatchRows; ++i) {
    lse[i] = head.log_sum_exp(outputs.lse, outputs.lse_low, first_row + patch_row(i));
    largest[i] = -INFINITY;
    entropy[i] = 0.0f;
  }
  const std::int64_t seen = head.causal.limit(last_row);
  for (std::int64_t first_key = 0; first_key < seen; first_key += kTileSide) {
    Patch logits;
    stage.multiply(queries, head.key_tile<T>(p.k, p.dim, first_key), logits);
    head.to_logits(logits, first_row, first_key);
#pragma unroll
    for (int i = 0; i < kPatchRows; ++i) {
#pragma unroll
      for (int j = 0; j < kPatchColumns; ++j) {
        const float probability = head.probability(logits[i][j], lse[i]);
        largest[i] = fmaxf(largest[i], logits[i][j]);
        if (probability != 0.0f) entropy[i] += probability * (lse[i].high - logits[i][j]);
      }
    }
  }
  stage.reduce_rows(largest, [](float a, float b) { return fmaxf(a, b); });
  stage.reduce_rows(entropy, [](float a, float b) { return a + b; });
  const float unit = nats_per_unit(p.mask.type);
#pragma unroll
  for (int i = 0; i < kPatchRows; ++i) {
    const std::int64_t row = first_row + patch_row(i);
    if (row > last_row || patch_column(0) != 0) continue;
    outputs.max_logit[head.query_row(row)] = largest[i] * unit;
    const float sum = entropy[i] + lse[i].low;  // the weights of that part sum to one
    // Rounding can carry a one-hot row below 0.
    outputs.entropy[head.query_row(row)] = sum < 0.0f ? 0.0f : sum * unit;
  }
}

template <typename T>
__global__ void __launch_bounds__(kTileThreads) key_statistics(const __grid_constant__ Task task) {
  __shared__ TileStage stage;
  const AttentionProblem& p = task.prepared.problem;
  const StatisticsOutputs& outputs = task.outputs;
  const Place place(p, p.cu_seqlens_k, p.keys, p.heads, kTileSide, blockIdx.x);
  const PreparedHead head(task.prepared, place.sequence, place.head);
  const Sequence& sequence = head.sequence;
  const std::int64_t first_key = static_cast<std::int64_t>(place.tile) * kTileSide;
  if (first_key >= sequence.keys_stored) return;

  const TileRows<T> keys = head.key_tile<T>(p.k, p.dim, first_key);
  float mass[kPatchColumns] = {};
  const std::int64_t begin = head.causal.first_row(first_key) / kTileSide * kTileSide;
  const std::int64_t end = first_key < sequence.keys ? sequence.queries : 0;
  for (std::int64_t first_row = begin; first_row < end; first_row += kTileSide) {
    Patch logits;
    stage.multiply(head.query_tile<T>(p.q, p.dim, first_row), keys, logits);
    head.to_logits(logits, first_row, first_key);
#pragma unroll
    for (int i = 0; i < kPatchRows; ++i) {
      const LogSumExp lse = head.log_sum_exp(outputs.lse, outputs.lse_low, first_row + patch_row(i));
#pragma unroll
      for (int j = 0; j < kPatchColumns; ++j) mass[j] += head.probability(logits[i][j], lse);
    }
  }
  const float total = stage.column_sum(mass);
  const std::int64_t key = first_key + threadIdx.x;
  if (threadIdx.x >= kTileSide || key >= sequence.keys_stored) return;
  outputs.key_mass[dense_row(sequence.batch, p.heads, head.head, p.keys, sequence.first_key + key)] = total;
}

}  // namespace

std::int64_t statistics_workspace(const AttentionProblem& problem) { return prepare_workspace(problem); }

cudaError_t statistics(const AttentionProblem& problem, const StatisticsOutputs& outputs, const Launch& launch) {
  if (const cudaError_t error = query_norms(problem, outputs.q_norm, launch); error != cudaSuccess) return error;
  if (const cudaError_t error = key_norms(problem, outputs.k_norm, launch); error != cudaSuccess) return error;
  Task task{.outputs = outputs};
  const cudaError_t error = prepare(problem, Preparation::factored, outputs.workspace, launch, task.prepared);
  if (error != cudaSuccess) return error;
  const auto run = [&](void (*kernel)(Task), std::int64_t rows) {
    const std::int64_t blocks = block_count(problem, rows, problem.heads, kTileSide);
    return launch_kernel(kernel, blocks, kTileThreads, 0, launch.stream, task);
  };
  return with_element(problem.type, [&]<typename T>(T) {
    const cudaError_t of_queries = run(query_statistics<T>, problem.queries);
    return of_queries != cudaSuccess ? of_queries : run(key_statistics<T>, problem.keys);
  });
}

}  // namespace quest::kernels::cuda
