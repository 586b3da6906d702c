// One kernel per head dimension, type and direction; the number of warps and the shared memory follow from the length.
#include "kernels/cuda/device/storage.cuh"
#include "kernels/cuda/device/tensor_map.h"
#include "kernels/cuda/short/resident_backward.cuh"
#include "kernels/cuda/short/serves.h"
#include "kernels/cuda/short/short.h"
#include "kernels/cuda/short/wide_backward.cuh"
#include "kernels/cuda/short/wide_forward.cuh"

namespace quest::kernels::cuda::short_sequence {
namespace {

// What the registers of a multiprocessor are shared by, made by measurement.
template <int D>
struct Tuning;
template <>
struct Tuning<16> {
  static constexpr int kForwardWarps = 32, kRowTiles = 1, kBackwardWarps = 28;
};
template <>
struct Tuning<32> {
  static constexpr int kForwardWarps = 16, kRowTiles = 2, kBackwardWarps = 16;
};
template <>
struct Tuning<64> {
  static constexpr int kForwardWarps = 16, kRowTiles = 1, kBackwardWarps = 12;
};
template <>
struct Tuning<80> {
  static constexpr int kForwardWarps = 20, kRowTiles = 1, kBackwardWarps = 12;
};
template <>
struct Tuning<96> {
  static constexpr int kForwardWarps = 16, kRowTiles = 1, kBackwardWarps = 8;
};
template <>
struct Tuning<128> {
  static constexpr int kForwardWarps = 12, kRowTiles = 1, kBackwardWarps = 8;
};

template <typename Kernel, typename Problem>
cudaError_t start(Kernel kernel, const Problem& problem, int blocks, int threads, int shared, const Launch& launch) {
  const cudaError_t set = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  if (set != cudaSuccess) return set;
  kernel<<<blocks, threads, shared, launch.stream>>>(problem);
  return cudaGetLastError();
}

int most_blocks(int blocks, int shared, const Launch& launch) {
  const int waiting = (blocks + launch.device.multiprocessors - 1) / launch.device.multiprocessors;
  return min(4, min(waiting, static_cast<int>(kSharedBytes) / (shared + 1024)));
}

template <typename T, int D>
cudaError_t start_forward(const ForwardProblem<T>& problem, const Launch& launch) {
  using Choice = Tuning<D>;
  const int blocks = problem.shape.head_count();
  const int shared = 2 * round_up(problem.shape.length, 16) * RowTile<D>::kRowBytes;
  const int tiles = (problem.shape.length + 16 * Choice::kRowTiles - 1) / (16 * Choice::kRowTiles);
  const int warps = warps_for(tiles, Choice::kForwardWarps, most_blocks(blocks, shared, launch));
  return start(short_forward<T, D, Choice::kForwardWarps, Choice::kRowTiles>, problem, blocks, warps * 32, shared,
               launch);
}

template <typename T, int D>
cudaError_t start_backward(const BackwardProblem<T>& problem, const Launch& launch) {
  using Choice = Tuning<D>;
  const int blocks = 2 * problem.shape.head_count();
  const int rows = round_up(problem.shape.length, 16);
  const int shared = static_cast<int>(shared_bytes(D, rows));
  const int warps = warps_for(rows / 16, Choice::kBackwardWarps, most_blocks(blocks, shared, launch));
  return start(resident_backward<T, D, Choice::kBackwardWarps>, problem, blocks, warps * 32, shared, launch);
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

// Where four warpgroups have enough rows to share, wgmma beats mma.sync.
bool is_wide(const AttentionProblem& p) {
  return p.dim == 64 && p.causal == Causal::none && p.keys > kWideGroups * kGroupRows / 2 && p.keys <= kWideRows;
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
  return start(wide_backward<T>, wide, blocks, kWideThreads, Pipeline<WideBackwardStage>::kBytes, launch);
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
    const BackwardProblem<T> problem{.shape = shape_of(p),
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
