#pragma once

// How the kernels are started: one per head dimension, type and direction; the number of warps and the shared memory
// follow from the length.

#include "kernels/cuda/mma/forward.cuh"
#include "kernels/cuda/mma/head_backward.cuh"
#include "kernels/cuda/mma/split_backward.cuh"
#include "kernels/cuda/resident/launch.cuh"

namespace quest::kernels::cuda::resident::mma {

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

inline constexpr int kFloatBytes = sizeof(float);

template <int D>
constexpr int forward_bytes(int rows) {
  return rows * (2 * RowTile<D>::kRowBytes + kFloatBytes);
}

template <int D>
constexpr int head_backward_bytes(int rows) {
  return rows * (4 * RowTile<D>::kRowBytes + 4 * kFloatBytes);
}

template <int D>
constexpr int split_backward_bytes(int rows) {
  return rows * (2 * RowTile<D>::kRowBytes + 2 * kFloatBytes);
}

template <typename T, int D>
cudaError_t start_forward(const ForwardProblem<T>& problem, const Launch& launch) {
  static_assert(forward_bytes<D>(longest_rows(Kernel::mma_forward, D)) <= kSharedBytes);
  constexpr Tuning kTuning = tuning(D);
  const int blocks = problem.shape.head_count();
  const int shared = forward_bytes<D>(round_up(problem.shape.length, 16));
  const int tile_rows = 16 * kTuning.row_tiles;
  const int tiles = round_up(problem.shape.length, tile_rows) / tile_rows;
  const int warps = warps_for(tiles, kTuning.forward_warps, most_blocks(blocks, shared, launch));
  return launch_kernel(mma_forward<T, D, kTuning.forward_warps, kTuning.row_tiles>, blocks, warps * 32, shared,
                       launch.stream, problem);
}

template <typename T, int D>
cudaError_t start_head_backward(const BackwardProblem<T>& problem, const Launch& launch) {
  constexpr int kLongestBytes = head_backward_bytes<D>(longest_rows(Kernel::mma_head_backward, D));
  static_assert(2 * (kLongestBytes + kReservedBytes) <= kSharedBytes + kReservedBytes, "two blocks are to fit");
  constexpr int kWarps = tuning(D).backward_warps;
  const int blocks = problem.shape.head_count();
  const int rows = round_up(problem.shape.length, 16);
  const int shared = head_backward_bytes<D>(rows);
  const int warps = warps_for(rows / 16, kWarps, most_blocks(blocks, shared, launch));
  return launch_kernel(head_backward<T, D, kWarps>, blocks, warps * 32, shared, launch.stream, problem);
}

template <typename T, int D>
cudaError_t start_split_backward(const BackwardProblem<T>& problem, const Launch& launch) {
  static_assert(split_backward_bytes<D>(longest_rows(Kernel::mma_split_backward, D)) <= kSharedBytes);
  constexpr int kWarps = tuning(D).backward_warps;
  const int blocks = 2 * problem.shape.head_count();
  const int rows = round_up(problem.shape.length, 16);
  const int shared = split_backward_bytes<D>(rows);
  const int warps = warps_for(rows / 16, kWarps, most_blocks(blocks, shared, launch));
  return launch_kernel(split_backward<T, D, kWarps>, blocks, warps * 32, shared, launch.stream, problem);
}

}  // namespace quest::kernels::cuda::resident::mma
