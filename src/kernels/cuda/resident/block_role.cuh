#pragma once

#include "kernels/cuda/resident/problem.cuh"

namespace quest::kernels::cuda::resident {

// Of a backward in which half the blocks own a head's keys and half its queries.
struct BlockRole {
  HeadIndex head;
  bool owns_keys;
  const float* lse;  // of the head

  template <typename T>
  __device__ explicit BlockRole(const BackwardProblem<T>& problem) {
    const int first = blockIdx.x / (2 * problem.neighbours) * problem.neighbours;
    const int neighbours = min(problem.neighbours, problem.shape.head_count() - first);
    const int within = blockIdx.x - 2 * first;
    head = problem.shape.head(first + within % neighbours);
    owns_keys = within < neighbours;
    lse = problem.lse + int64_t{head.dense} * problem.shape.length;
  }
};

}  // namespace quest::kernels::cuda::resident
