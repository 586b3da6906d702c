// The backward of long sequences: measure rows, multiply tiles, turn the sums of grad_q into floating point.

#include <algorithm>

#include "kernels/cuda/device/storage.cuh"
#include "kernels/cuda/device/tensor_map.h"
#include "kernels/cuda/long/backward_tiles.cuh"
#include "kernels/cuda/long/long.h"
#include "kernels/cuda/long/query_gradient.cuh"
#include "kernels/sequence.h"

namespace quest::kernels::cuda::long_sequence {
namespace {

constexpr std::int64_t kAlignedFloats = 32;

template <typename Visit>
auto with_tile(const KernelRow& row, Visit visit) {
  return row.compiled_dim() == 64 ? visit(BackwardTile<64>{}) : visit(BackwardTile<128>{});
}

// Offsets into the workspace, in floats.
struct Workspace {
  std::int64_t query_tiles;
  std::int64_t key_tiles;
  std::int64_t sums = 0;
  std::int64_t rows;
  std::int64_t largest_values;
  std::int64_t key_reciprocals;
  std::int64_t end;

  template <typename Tile>
  Workspace(const AttentionProblem& p, Tile /*tile*/)
      : query_tiles(ceil_div(p.queries, Tile::kQueries)), key_tiles(ceil_div(p.keys, Tile::kKeys)) {
    const std::int64_t tiles = p.batch * p.heads * query_tiles;
    rows = sums + tiles * Tile::kQueries * Tile::kDim;
    largest_values = rows + tiles * static_cast<std::int64_t>(sizeof(QueryRows<Tile::kQueries>) / sizeof(float));
    key_reciprocals = largest_values + p.batch * p.kv_heads * key_tiles;
    end = key_reciprocals + p.batch * p.kv_heads * p.keys;
  }
};

float* aligned(float* pointer) {
  const auto address = reinterpret_cast<std::intptr_t>(pointer);
  constexpr std::intptr_t kBytes = kAlignedFloats * sizeof(float);
  return reinterpret_cast<float*>(ceil_div(address, kBytes) * kBytes);
}

// Of `count` members in groups of at most `most`, equal ones if they need not be much smaller: under causal order the
// short blocks at the end of a group are followed by the long ones of the next, and a small last group is all tail.
int size_of_groups(int count, int most) {
  const int largest = std::clamp(most, 1, count);
  for (int size = largest; 2 * size > largest; --size) {
    if (count % size == 0) return size;
  }
  return largest;
}

template <typename T, typename Tile>
cudaError_t run(const AttentionProblem& p, const BackwardArguments& arguments, const Launch& launch) {
  float* memory = aligned(arguments.workspace);
  const Workspace workspace(p, Tile{});
  auto* sums = reinterpret_cast<std::int32_t*>(memory + workspace.sums);
  float* rows = memory + workspace.rows;
  float* largest_values = memory + workspace.largest_values;
  float* key_reciprocals = memory + workspace.key_reciprocals;
  const auto number = [](std::int64_t x) { return static_cast<int>(x); };
  const dim3 key_grid(workspace.key_tiles, p.kv_heads, p.batch);
  const dim3 query_grid(workspace.query_tiles, p.heads, p.batch);

  BackwardTensors tensors{.key_reciprocals = key_reciprocals,
                          .rows = rows,
                          .sums = sums,
                          .keys = number(p.keys),
                          .key_heads = number(p.kv_heads),
                          .heads_per_key_head = number(p.heads / p.kv_heads),
                          .pairs = number(p.batch * p.kv_heads),
                          .key_tiles = number(workspace.key_tiles),
                          .query_tiles = number(workspace.query_tiles),
                          .scale = p.scale,
                          .causal = p.causal != Causal::none};
  const std::int64_t bytes_of_pair = tensors.heads_per_key_head * p.queries * Tile::kDim * 8;
  constexpr std::int64_t kCacheBytes = 24 << 20;
  tensors.pairs_together = size_of_groups(tensors.pairs, number(kCacheBytes / bytes_of_pair));

  const auto map = [&](CUtensorMap& target, const auto& matrix, std::int64_t heads, std::int64_t length,
                       std::int64_t dim, int box_rows) {
    return make_tensor_map(target, matrix, p.type, p.batch, heads, length, dim, box_rows) == CUDA_SUCCESS;
  };
  tensors.given = {.q = p.q,
                   .k = p.k,
                   .v = p.v,
                   .out = arguments.out,
                   .grad_out = arguments.grad_out,
                   .lse = arguments.lse,
                   .heads = number(p.heads),
                   .heads_per_key_head = tensors.heads_per_key_head,
                   .queries = number(p.queries),
                   .keys = tensors.keys,
                   .dim = number(p.dim),
                   .value_dim = number(p.value_dim),
                   .scale = p.scale};
  tensors.key_gradients = arguments.grad_k;
  tensors.value_gradients = arguments.grad_v;
  const bool mapped = map(tensors.q, p.q, p.heads, p.queries, p.dim, Tile::kQueries) &&
                      map(tensors.grad_out, arguments.grad_out, p.heads, p.queries, p.value_dim, Tile::kQueries) &&
                      map(tensors.k, p.k, p.kv_heads, p.keys, p.dim, Tile::kKeys) &&
                      map(tensors.v, p.v, p.kv_heads, p.keys, p.value_dim, Tile::kKeys) &&
                      map(tensors.grad_k, arguments.grad_k, p.kv_heads, p.keys, p.dim, 64) &&
                      map(tensors.grad_v, arguments.grad_v, p.kv_heads, p.keys, p.value_dim, 64);
  if (!mapped) return cudaErrorInvalidValue;

  constexpr int kSharedBytes = BackwardMemory<Tile>::kBytes;
  const auto multiply = multiply_tiles<T, Tile>;
  const cudaError_t set = cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (set != cudaSuccess) return set;

  const auto start = [&](auto* kernel, dim3 grid, int threads, int shared_bytes, const auto& arguments) {
    return launch_overlapping(kernel, grid, threads, shared_bytes, launch.stream, arguments);
  };
  const ValueRows values{.v = p.v, .keys = tensors.keys, .value_dim = number(p.value_dim), .largest = largest_values};
  const GradientRows gradients{.out = arguments.out,
                               .grad_out = arguments.grad_out,
                               .lse = arguments.lse,
                               .largest_value = largest_values,
                               .rows = rows,
                               .sums = sums,
                               .queries = number(p.queries),
                               .value_dim = number(p.value_dim),
                               .key_tiles = tensors.key_tiles,
                               .heads_per_key_head = tensors.heads_per_key_head,
                               .causal = tensors.causal};
  const QueryGradient result{.grad_q = arguments.grad_q,
                             .rows = rows,
                             .sums = sums,
                             .queries = number(p.queries),
                             .dim = number(p.dim),
                             .scale = p.scale,
                             .causal = tensors.causal,
                             .key_reciprocals = key_reciprocals,
                             .given = tensors.given};
  // The first one may not overlap with what came before, or the next ones would read what is still being written.
  measure_values<T, Tile><<<key_grid, kRowThreads, 0, launch.stream>>>(values);
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = start(measure_queries<T, Tile>, query_grid, kRowThreads, 0, gradients);
  if (error == cudaSuccess)
    error = start(multiply, tensors.pairs * tensors.key_tiles, kBackwardThreads, kSharedBytes, tensors);
  if (error == cudaSuccess) error = start(finish_queries<T, Tile>, query_grid, kRowThreads, 0, result);
  return error;
}

}  // namespace

std::int64_t backward_workspace(const KernelRow& row, const AttentionProblem& problem) {
  return with_tile(row, [&](auto tile) { return Workspace(problem, tile).end; }) + kAlignedFloats;
}

cudaError_t backward(const KernelRow& row, const AttentionProblem& p, const BackwardArguments& arguments,
                     const Launch& launch) {
  if (p.batch * p.heads * p.queries * p.keys == 0) return cudaErrorInvalidValue;
  if (!p.normalize_k || p.causal == Causal::lower_right) return cudaErrorInvalidValue;
  return with_tile(row, [&](auto tile) {
    const auto run_with = [&](auto element) { return run<decltype(element), decltype(tile)>(p, arguments, launch); };
    return p.type == StorageType::bfloat16 ? run_with(__nv_bfloat16{}) : run_with(__half{});
  });
}

}  // namespace quest::kernels::cuda::long_sequence
