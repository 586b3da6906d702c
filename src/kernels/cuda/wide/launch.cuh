#pragma once

// How the kernels are started: as many blocks as there are multiprocessors.

#include <algorithm>

#include "kernels/cuda/device/tensor_map.h"
#include "kernels/cuda/resident/launch.cuh"
#include "kernels/cuda/wide/backward.cuh"
#include "kernels/cuda/wide/forward.cuh"

namespace quest::kernels::cuda::resident::wide {

static_assert(std::ranges::all_of(kKernelTable, [](const KernelRow& row) {
  if (row.forward != Kernel::wide_forward && row.backward != Kernel::wide_backward) return true;
  return row.compiled_dim() == WideTile::kDim && row.limit == Limit::none && row.keys.first >= kWideFewestRows &&
         row.keys.last <= kWideRows;
}));

template <typename Pointer>
bool map(CUtensorMap& target, const HeadMatrix<Pointer>& tensor, const AttentionProblem& p, int box_rows) {
  return make_tensor_map(target, tensor, p.type, p.batch, p.heads, p.keys, p.dim, box_rows) == CUDA_SUCCESS;
}

inline int persistent_blocks(const HeadShape& shape, const Launch& launch) {
  return std::min(shape.head_count(), launch.device.multiprocessors);
}

template <typename T>
cudaError_t start_forward(const AttentionProblem& p, const ForwardOutputs& o, const Launch& launch) {
  WideForwardProblem wide{.shape = shape_of(p), .lse = o.lse};
  const bool made = map(wide.q, p.q, p, kWideRows) && map(wide.k, p.k, p, kWideRows) &&
                    map(wide.v, p.v, p, kWideRows) && map(wide.out, o.out, p, kGroupRows);
  if (!made) return cudaErrorInvalidValue;
  return launch_kernel(wide_forward<T>, persistent_blocks(wide.shape, launch), kWideThreads,
                       Pipeline<WideForwardStage>::kBytes, launch.stream, wide);
}

template <typename T>
cudaError_t start_backward(const AttentionProblem& p, const BackwardArguments& a, const Launch& launch) {
  WideBackwardProblem<T> wide{.shape = shape_of(p), .out = heads<T>(a.out), .lse = a.lse, .grad_q = heads<T>(a.grad_q)};
  const bool made = map(wide.q, p.q, p, kWideRows) && map(wide.k, p.k, p, kWideRows) &&
                    map(wide.v, p.v, p, kWideRows) && map(wide.grad_out, a.grad_out, p, kWideRows) &&
                    map(wide.grad_k, a.grad_k, p, kGroupRows) && map(wide.grad_v, a.grad_v, p, kGroupRows);
  if (!made) return cudaErrorInvalidValue;
  const bool every_group_has_rows = p.keys > (kWideGroups - 1) * kGroupRows;
  return launch_kernel(every_group_has_rows ? wide_backward<T, true> : wide_backward<T, false>,
                       persistent_blocks(wide.shape, launch), kWideThreads, Pipeline<WideBackwardStage>::kBytes,
                       launch.stream, wide);
}

}  // namespace quest::kernels::cuda::resident::wide
