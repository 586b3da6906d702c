#pragma once

// How the kernels are started. They are compiled for the head dimensions, and with or without a causal limit, that the
// table asks for.

#include "kernels/cuda/group/backward.cuh"
#include "kernels/cuda/group/forward.cuh"
#include "kernels/cuda/resident/launch.cuh"

namespace quest::kernels::cuda::resident::group {

template <typename T, int D>
cudaError_t start_forward(const ForwardProblem<T>& problem, const Launch& launch) {
  constexpr int kLongestRows = longest_rows(Kernel::group_forward, D);
  if constexpr (kLongestRows == 0) {
    return cudaErrorInvalidValue;
  } else {
    static_assert(longest(Kernel::group_forward, D, Limit::causal) == 0);
    static_assert(group_forward_bytes<T, D>(kLongestRows, kForwardGroups<D>) <= kSharedBytes);
    const int blocks = problem.shape.head_count();
    const int rows = round_up(problem.shape.length, 16);
    const int groups = most_blocks(blocks, group_forward_bytes<T, D>(rows, 2), launch) == 1 ? kForwardGroups<D> : 2;
    return launch_kernel(group_forward<T, D>, blocks, groups * 128, group_forward_bytes<T, D>(rows, groups),
                         launch.stream, problem);
  }
}

template <typename T, int D>
auto backward_kernel(bool causal) {
  if constexpr (longest(Kernel::group_backward, D, Limit::causal) > 0) {
    if (causal) return group_backward<T, D, true>;
  }
  return group_backward<T, D, false>;
}

template <typename T, int D>
cudaError_t start_backward(const BackwardProblem<T>& problem, const Launch& launch) {
  constexpr int kLongestRows = longest_rows(Kernel::group_backward, D);
  if constexpr (kLongestRows == 0) {
    return cudaErrorInvalidValue;
  } else {
    static_assert(group_backward_bytes<T, D>(kLongestRows, kBackwardGroups) <= kSharedBytes);
    const int blocks = 2 * problem.shape.head_count();
    const int rows = round_up(problem.shape.length, 16);
    const int groups = most_blocks(blocks, group_backward_bytes<T, D>(rows, 1), launch) == 1 ? kBackwardGroups : 1;
    return launch_kernel(backward_kernel<T, D>(problem.shape.causal), blocks, groups * 128,
                         group_backward_bytes<T, D>(rows, groups), launch.stream, problem);
  }
}

}  // namespace quest::kernels::cuda::resident::group
