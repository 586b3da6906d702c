// One kernel per head dimension, type and direction; the number of warps and the shared memory follow from the length.
#include <climits>

#include "kernels/cuda/device/tensor_map.h"
#include "kernels/cuda/short/group_backward.cuh"
#include "kernels/cuda/short/group_forward.cuh"
#include "kernels/cuda/short/head_backward.cuh"
#include "kernels/cuda/short/resident_backward.cuh"
#include "kernels/cuda/short/serves.h"
#include "kernels/cuda/short/short.h"
#include "kernels/cuda/short/wide_backward.cuh"
#include "kernels/cuda/short/wide_forward.cuh"

namespace quest::kernels::cuda::short_sequence {
namespace {

// How many warps share the registers of a multiprocessor, and how many tiles of 16 rows a warp takes at once.
struct Tuning {
  int forward_warps;
  int row_tiles;
  int backward_warps;
};

constexpr Tuning tuning(int dim) {
  switch (dim) {
    case 16:
      return {32, 1, 28};
    case 32:
      return {16, 2, 16};
    case 64:
      return {16, 1, 12};
    case 80:
      return {20, 1, 12};
    case 96:
      return {16, 1, 8};
    default:
      return {12, 1, 8};
  }
}

// Longer heads than these go to warpgroups; forward only without a causal limit, backward with one only where said.
struct GroupTuning {
  int forward_above = INT_MAX;
  bool backward = false;
  bool causal_backward = false;
};

constexpr GroupTuning group_tuning(int dim) {
  switch (dim) {
    case 64:
    case 80:
      return {kWideRows, true, true};
    case 96:
      return {256, true, false};
    case 128:
      return {.backward = true};
    default:
      return {};
  }
}

template <typename Kernel, typename Problem>
cudaError_t start(Kernel kernel, const Problem& problem, int blocks, int threads, int shared, const Launch& launch) {
  const cudaError_t set = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  if (set != cudaSuccess) return set;
  kernel<<<blocks, threads, shared, launch.stream>>>(problem);
  return cudaGetLastError();
}

// What the system takes of a block's shared memory.
constexpr int kReservedBytes = 1024;

// That it is worth to run on a multiprocessor at a time.
int most_blocks(int blocks, int shared, const Launch& launch) {
  const int waiting = (blocks + launch.device.multiprocessors - 1) / launch.device.multiprocessors;
  const int fitting = (static_cast<int>(kSharedBytes) + kReservedBytes) / (shared + kReservedBytes);
  return min(4, min(waiting, fitting));
}

template <typename T, int D>
cudaError_t start_forward(const ForwardProblem<T>& problem, const Launch& launch) {
  constexpr Tuning kTuning = tuning(D);
  const int blocks = problem.shape.head_count();
  const int rows = round_up(problem.shape.length, 16);
  constexpr int kLongestForWarps = group_tuning(D).forward_above;
  if constexpr (kLongestForWarps < INT_MAX) {
    const int groups = most_blocks(blocks, group_forward_bytes<T, D>(rows, 2), launch) == 1 ? kForwardGroups<D> : 2;
    const int shared = group_forward_bytes<T, D>(rows, groups);
    if (!problem.shape.causal && problem.shape.length > kLongestForWarps && shared <= kSharedBytes) {
      return start(group_forward<T, D>, problem, blocks, groups * 128, shared, launch);
    }
  }
  const int shared = rows * (2 * RowTile<D>::kRowBytes + static_cast<int>(sizeof(float)));
  const int tile_rows = 16 * kTuning.row_tiles;
  const int tiles = round_up(problem.shape.length, tile_rows) / tile_rows;
  const int warps = warps_for(tiles, kTuning.forward_warps, most_blocks(blocks, shared, launch));
  return start(short_forward<T, D, kTuning.forward_warps, kTuning.row_tiles>, problem, blocks, warps * 32, shared,
               launch);
}

template <typename T, int D>
auto group_backward_for(bool causal) {
  if constexpr (group_tuning(D).causal_backward) {
    if (causal) return group_backward<T, D, true>;
  }
  return group_backward<T, D, false>;
}

template <typename T, int D>
cudaError_t start_backward(const BackwardProblem<T>& problem, const Launch& launch) {
  constexpr int kWarps = tuning(D).backward_warps;
  const int heads = problem.shape.head_count();
  const int rows = round_up(problem.shape.length, 16);
  const int whole_head = rows * (4 * RowTile<D>::kRowBytes + 4 * static_cast<int>(sizeof(float)));
  if (2 * (whole_head + kReservedBytes) <= kSharedBytes + kReservedBytes) {
    const int warps = warps_for(rows / 16, kWarps, most_blocks(heads, whole_head, launch));
    return start(head_backward<T, D, kWarps>, problem, heads, warps * 32, whole_head, launch);
  }
  if constexpr (group_tuning(D).backward) {
    const int groups = most_blocks(2 * heads, group_backward_bytes<T, D>(rows, 1), launch) == 1 ? 2 : 1;
    const int shared = group_backward_bytes<T, D>(rows, groups);
    const bool causal = problem.shape.causal;
    if (shared <= kSharedBytes && (!causal || group_tuning(D).causal_backward)) {
      return start(group_backward_for<T, D>(causal), problem, 2 * heads, groups * 128, shared, launch);
    }
  }
  const int shared = static_cast<int>(shared_bytes(D, rows));
  const int warps = warps_for(rows / 16, kWarps, most_blocks(2 * heads, shared, launch));
  return start(resident_backward<T, D, kWarps>, problem, 2 * heads, warps * 32, shared, launch);
}

template <typename T, typename Pointer>
auto heads(const HeadMatrix<Pointer>& tensor) {
  using Typed = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const T, T>;
  return Heads<Typed>{static_cast<Typed*>(tensor.data), tensor.batch_stride, tensor.head_stride,
                      static_cast<int>(tensor.row_stride)};
}

Shape shape_of(const AttentionProblem& p) {
  const float key_factor = p.scale * kLog2E;
  return {.batch = static_cast<int>(p.batch),
          .heads = static_cast<int>(p.heads),
          .length = static_cast<int>(p.keys),
          .causal = p.causal != Causal::none,
          .scale = p.scale,
          .key_factor = key_factor,
          .projection = 1 / (key_factor * key_factor)};
}

bool is_wide(const AttentionProblem& p) {
  return p.dim == 64 && p.causal == Causal::none && p.keys >= kWideFewestRows && p.keys <= kWideRows;
}

template <typename Pointer>
bool map(CUtensorMap& target, const HeadMatrix<Pointer>& tensor, const AttentionProblem& p, int box_rows) {
  return make_tensor_map(target, tensor, p.type, p.batch, p.heads, p.keys, p.dim, box_rows) == CUDA_SUCCESS;
}

template <typename T>
cudaError_t start_wide(const AttentionProblem& p, const ForwardOutputs& o, const Launch& launch) {
  WideForwardProblem wide{.shape = shape_of(p), .lse = o.lse};
  const bool made = map(wide.q, p.q, p, kWideRows) && map(wide.k, p.k, p, kWideRows) &&
                    map(wide.v, p.v, p, kWideRows) && map(wide.out, o.out, p, kGroupRows);
  if (!made) return cudaErrorInvalidValue;
  const int blocks = min(wide.shape.head_count(), launch.device.multiprocessors);
  return start(wide_forward<T>, wide, blocks, kWideThreads, Pipeline<WideForwardStage>::kBytes, launch);
}

template <typename T>
cudaError_t start_wide(const AttentionProblem& p, const BackwardArguments& a, const Launch& launch) {
  WideBackwardProblem<T> wide{.shape = shape_of(p), .out = heads<T>(a.out), .lse = a.lse, .grad_q = heads<T>(a.grad_q)};
  const bool made = map(wide.q, p.q, p, kWideRows) && map(wide.k, p.k, p, kWideRows) &&
                    map(wide.v, p.v, p, kWideRows) && map(wide.grad_out, a.grad_out, p, kWideRows) &&
                    map(wide.grad_k, a.grad_k, p, kGroupRows) && map(wide.grad_v, a.grad_v, p, kGroupRows);
  if (!made) return cudaErrorInvalidValue;
  const int blocks = min(wide.shape.head_count(), launch.device.multiprocessors);
  const auto kernel = p.keys > (kWideGroups - 1) * kGroupRows ? wide_backward<T, true> : wide_backward<T, false>;
  return start(kernel, wide, blocks, kWideThreads, Pipeline<WideBackwardStage>::kBytes, launch);
}

// Calls run with the head dimension as a constant.
template <typename Run>
cudaError_t with_dim(std::int64_t dim, Run run) {
  switch (dim) {
    case 16:
      return run(std::integral_constant<int, 16>{});
    case 32:
      return run(std::integral_constant<int, 32>{});
    case 64:
      return run(std::integral_constant<int, 64>{});
    case 80:
      return run(std::integral_constant<int, 80>{});
    case 96:
      return run(std::integral_constant<int, 96>{});
    case 128:
      return run(std::integral_constant<int, 128>{});
    default:
      return cudaErrorInvalidValue;
  }
}

template <typename Run>
cudaError_t with_type(StorageType type, Run run) {
  return type == StorageType::float16 ? run(__half{}) : run(__nv_bfloat16{});
}

}  // namespace

cudaError_t forward(const AttentionProblem& p, const ForwardOutputs& o, const Launch& launch) {
  if (!serves(p) || !aligned(o.out, p)) return cudaErrorInvalidValue;
  return with_type(p.type, [&](auto element) {
    using T = decltype(element);
    if (is_wide(p)) return start_wide<T>(p, o, launch);
    const ForwardProblem<T> problem{.shape = shape_of(p),
                                    .q = heads<T>(p.q),
                                    .k = heads<T>(p.k),
                                    .v = heads<T>(p.v),
                                    .out = heads<T>(o.out),
                                    .lse = o.lse};
    return with_dim(p.dim, [&](auto dim) { return start_forward<T, dim.value>(problem, launch); });
  });
}

cudaError_t backward(const AttentionProblem& p, const BackwardArguments& a, const Launch& launch) {
  const bool good = serves(p) && aligned(a.out, p) && aligned(a.grad_out, p) && aligned(a.grad_q, p) &&
                    aligned(a.grad_k, p) && aligned(a.grad_v, p);
  if (!good) return cudaErrorInvalidValue;
  return with_type(p.type, [&](auto element) {
    using T = decltype(element);
    if (is_wide(p)) return start_wide<T>(p, a, launch);
    // The two kinds of block differ in work. Where all run at once, each multiprocessor should get one of each; where
    // they queue, the two of a head should run together, for what they read is then in the cache.
    const int heads_in_all = static_cast<int>(p.batch * p.heads);
    const BackwardProblem<T> problem{.shape = shape_of(p),
                                     .neighbours = heads_in_all <= launch.device.multiprocessors ? heads_in_all : 1,
                                     .grad_out = heads<T>(a.grad_out),
                                     .q = heads<T>(p.q),
                                     .k = heads<T>(p.k),
                                     .v = heads<T>(p.v),
                                     .out = heads<T>(a.out),
                                     .lse = a.lse,
                                     .grad_q = heads<T>(a.grad_q),
                                     .grad_k = heads<T>(a.grad_k),
                                     .grad_v = heads<T>(a.grad_v)};
    return with_dim(p.dim, [&](auto dim) { return start_backward<T, dim.value>(problem, launch); });
  });
}

}  // namespace quest::kernels::cuda::short_sequence
