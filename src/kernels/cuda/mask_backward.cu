// Gradient of an additive mask: dS summed over the dimensions along which the mask is broadcast. A block owns a tile of
// the mask and visits every (batch, head) and row that uses it in order, so no two blocks add to one element.

#include "kernels/cuda/attention.h"
#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/recompute.cuh"

namespace quest::kernels::cuda {
namespace {

// dO·O of a tile's queries, each warp in turn with a row.
template <typename T>
__device__ void multiply_rows(const TileRows<T>& out, const TileRows<T>& grad_out, float (&products)[kTileSide]) {
  for (int row = threadIdx.x / 32; row < kTileSide && row < out.count; row += kTileThreads / 32) {
    float sum = 0.0f;
    for (int d = threadIdx.x % 32; d < out.dim; d += 32) {
      sum = fmaf(to_float(out.data[row * out.stride + d]), to_float(grad_out.data[row * grad_out.stride + d]), sum);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0) products[row] = sum;
  }
}

struct Shared {
  TileStage stage;
  float output_products[kTileSide];
};

__device__ inline void drop(const PreparedHead& head, Patch& products, std::int64_t first_row, std::int64_t first_key) {
  const AttentionProblem& p = head.problem;
  const DropoutFactors factors(p.dropout_p);
#pragma unroll
  for (int i = 0; i < kPatchRows; ++i) {
    const DropoutRow stream(p.dropout_seed, head.sequence.index, head.head, first_row + patch_row(i));
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) {
      const auto key = static_cast<std::uint32_t>(first_key + patch_column(j));
      products[i][j] *= factors.factor(stream, key);
    }
  }
}

// Adds dS = p (f dO·v - dO·O), f being the dropout factor. A probability of 0 has no gradient whatever the value holds.
template <typename T>
__device__ void add_score_gradients(Shared& shared, const PreparedHead& head, const BackwardArguments& a,
                                    std::int64_t first_row, std::int64_t first_key, Patch& sum) {
  const AttentionProblem& p = head.problem;
  const TileRows<T> grad_out = head.query_tile<T>(a.grad_out, p.value_dim, first_row);
  Patch probabilities;
  Patch products;
  shared.stage.multiply(head.query_tile<T>(p.q, p.dim, first_row), head.key_tile<T>(p.k, p.dim, first_key),
                        probabilities);
  multiply_rows(head.query_tile<T>(a.out, p.value_dim, first_row), grad_out, shared.output_products);
  head.to_logits(probabilities, first_row, first_key);
#pragma unroll
  for (int i = 0; i < kPatchRows; ++i) {
    const LogSumExp lse = head.log_sum_exp(a.lse, a.lse_low, first_row + patch_row(i));
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) probabilities[i][j] = head.probability(probabilities[i][j], lse);
  }
  shared.stage.multiply(grad_out, head.key_tile<T>(p.v, p.value_dim, first_key), products);
  if (p.dropout_p > 0.0f) drop(head, products, first_row, first_key);
#pragma unroll
  for (int i = 0; i < kPatchRows; ++i) {
    const float output_product = shared.output_products[patch_row(i)];
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) {
      const float gradient = probabilities[i][j] * (products[i][j] - output_product);
      if (probabilities[i][j] != 0.0f) sum[i][j] += gradient;
    }
  }
}

struct Task {
  RemainingProblem prepared;
  BackwardArguments arguments;
  MaskGradient gradient;
  int row_tiles;
  int key_tiles;
};

template <typename T>
__global__ void __launch_bounds__(kTileThreads, 2) mask_gradient(const __grid_constant__ Task task) {
  __shared__ Shared shared;
  const AttentionProblem& p = task.prepared.problem;
  const MaskGradient& gradient = task.gradient;
  const int row_tiles = task.row_tiles;
  const int key_tiles = task.key_tiles;
  const std::int64_t pair = blockIdx.x / key_tiles / row_tiles;
  const std::int64_t mask_batch = pair / gradient.mask_heads;
  const std::int64_t mask_head = pair % gradient.mask_heads;
  const std::int64_t first_mask_row = static_cast<std::int64_t>(blockIdx.x / key_tiles % row_tiles) * kTileSide;
  const std::int64_t first_key = static_cast<std::int64_t>(blockIdx.x % key_tiles) * kTileSide;
  const bool one_row = gradient.mask_rows == 1;
  const std::int64_t end_row = one_row ? p.queries : min(first_mask_row + kTileSide, p.queries);

  Patch sum = {};
  for (std::int64_t b = 0; b < p.batch; ++b) {
    if (gradient.mask_batch > 1 && b != mask_batch) continue;
    for (std::int64_t h = 0; h < p.heads; ++h) {
      if (gradient.mask_heads > 1 && h != mask_head) continue;
      const PreparedHead head(task.prepared, b, h);
      if (first_key >= head.sequence.keys) continue;
      for (std::int64_t first_row = first_mask_row; first_row < end_row; first_row += kTileSide) {
        add_score_gradients<T>(shared, head, task.arguments, first_row, first_key, sum);
      }
    }
  }

  float* rows = gradient.data + pair * gradient.mask_rows * p.keys;
  if (one_row) {
    float own[kPatchColumns];
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) own[j] = sum[0][j] + sum[1][j];
    const float total = shared.stage.column_sum(own);
    const std::int64_t key = first_key + threadIdx.x;
    if (threadIdx.x < kTileSide && key < p.keys) rows[key] = total;
    return;
  }
#pragma unroll
  for (int i = 0; i < kPatchRows; ++i) {
    const std::int64_t row = first_mask_row + patch_row(i);
#pragma unroll
    for (int j = 0; j < kPatchColumns; ++j) {
      const std::int64_t key = first_key + patch_column(j);
      if (row < p.queries && key < p.keys) rows[row * p.keys + key] = sum[i][j];
    }
  }
}

}  // namespace

cudaError_t mask_backward(const AttentionProblem& problem, const BackwardArguments& arguments,
                          const MaskGradient& gradient, const Launch& launch) {
  const std::int64_t row_tiles = gradient.mask_rows == 1 ? 1 : ceil_div(problem.queries, kTileSide);
  const std::int64_t key_tiles = ceil_div(problem.keys, kTileSide);
  const std::int64_t blocks = gradient.mask_batch * gradient.mask_heads * row_tiles * key_tiles;
  if (blocks == 0) return cudaSuccess;
  Task task{.arguments = arguments,
            .gradient = gradient,
            .row_tiles = static_cast<int>(row_tiles),
            .key_tiles = static_cast<int>(key_tiles)};
  const cudaError_t error = prepare(problem, Preparation::factored, arguments.workspace, launch, task.prepared);
  if (error != cudaSuccess) return error;
  // Beside the gradients of the output as they are.
  task.prepared.problem.v = problem.v;
  task.prepared.problem.value_dim = problem.value_dim;
  return with_element(problem.type, [&]<typename T>(T) {
    return launch_kernel(mask_gradient<T>, blocks, kTileThreads, 0, launch.stream, task);
  });
}

}  // namespace quest::kernels::cuda
