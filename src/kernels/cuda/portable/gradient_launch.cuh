#pragma once

// The kernels that sum gradients, and which of them a problem takes.

#include <bit>

#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/portable/gradients.cuh"

namespace quest::kernels::cuda::portable {

template <typename T, int kWidth, Owns kOwns, Extras kExtras>
__global__ void __launch_bounds__(GradientShape<T, kWidth, kOwns, kExtras>::kThreads,
                                  GradientShape<T, kWidth, kOwns, kExtras>::kBlocksPerProcessor)
    gradient_kernel(const __grid_constant__ GradientParameters p) {
  extern __shared__ __align__(128) uint8_t memory[];
  using Block = GradientBlock<T, kWidth, kOwns, kExtras>;
  constexpr int kOwned = Block::Shape::kOwned;
  auto& shared = *reinterpret_cast<typename Block::Memory*>(memory);
  const AttentionProblem& problem = p.problem;
  if constexpr (Block::kKeySide) {
    const unsigned block =
        block_in_order(problem, problem.cu_seqlens_k, problem.keys, kOwned, Longest::first, blockIdx.x, gridDim.x);
    const Place place(problem, problem.cu_seqlens_k, problem.keys, problem.kv_heads, kOwned, block);
    Block work(p, shared, place, block);
    if (work.first_owned < work.sequence.keys_stored) work.run();
  } else {
    const unsigned block =
        block_in_order(problem, problem.cu_seqlens_q, problem.queries, kOwned, Longest::last, blockIdx.x, gridDim.x);
    const Place place(problem, problem.cu_seqlens_q, problem.queries, problem.heads, kOwned, block);
    Block work(p, shared, place, block);
    if (work.first_owned < work.rules.queries) {
      work.run();
    } else if (p.query_chain.gain_partials != nullptr) {
      clear_gain_partial(p.query_chain, block);
    }
  }
}

template <typename T, int kWidth, Owns kOwns, Extras kExtras>
cudaError_t launch_kernel_of(const GradientParameters& parameters, cudaStream_t stream) {
  using Shape = GradientShape<T, kWidth, kOwns, kExtras>;
  static_assert(sizeof(GradientMemory<Shape>) <=
                (kOwns == Owns::more_keys_for_all ? kMoreSharedMemory : kSharedMemory));
  const AttentionProblem& p = parameters.problem;
  const int64_t blocks = kOwns == Owns::queries ? block_count(p, p.queries, p.heads, Shape::kOwned)
                                                : block_count(p, p.keys, p.kv_heads, Shape::kOwned);
  return launch_kernel(gradient_kernel<T, kWidth, kOwns, kExtras>, blocks, Shape::kThreads,
                       sizeof(GradientMemory<Shape>), stream, parameters);
}

// By about a tenth at a width of 128, hardly at 96 or with dropout, unless their last block is emptier by more than
// that.
template <typename T, int kWidth>
bool more_keys_are_faster(const AttentionProblem& p, const DeviceInfo& device) {
  const std::int64_t few = round_up(p.keys, GradientShape<T, kWidth, Owns::keys_for_all>::kOwned);
  const std::int64_t more = round_up(p.keys, GradientShape<T, kWidth, Owns::more_keys_for_all>::kOwned);
  return device.block_shared_memory >= kMoreSharedMemory && 10 * more <= 11 * few;
}

// Seven products, which few problems of 16 bits need: for powers of two only.
template <typename T, int kWidth, Extras kExtras>
cudaError_t launch_each_gradient(const GradientParameters& p, cudaStream_t stream) {
  const auto error = launch_kernel_of<T, kWidth, Owns::queries, kExtras>(p, stream);
  if (error != cudaSuccess) return error;
  return launch_kernel_of<T, kWidth, Owns::keys_and_values, kExtras>(p, stream);
}

template <typename T, int kWidth, Extras kExtras>
cudaError_t launch_of_shape(const GradientParameters& p, const Launch& launch) {
  const cudaStream_t stream = launch.stream;
  if constexpr (sizeof(T) == 2) {
    if (p.query_sums != nullptr) {
      if constexpr (kWidth > 128) {
        return launch_kernel_of<T, kWidth, Owns::more_keys_for_all, kExtras>(p, stream);
      } else if constexpr (kWidth == 128 && kExtras != Extras::dropout) {
        if (more_keys_are_faster<T, kWidth>(p.problem, launch.device)) {
          return launch_kernel_of<T, kWidth, Owns::more_keys_for_all, kExtras>(p, stream);
        }
      }
      if constexpr (kWidth <= 128) return launch_kernel_of<T, kWidth, Owns::keys_for_all, kExtras>(p, stream);
    }
  }
  if constexpr (kExtras == Extras::dropout) {
    return launch_gradients<Extras::additive_mask>(p, launch);
  } else {
    constexpr int kPadded = sizeof(T) == 2 ? std::bit_ceil(unsigned{kWidth}) : kWidth;
    return launch_each_gradient<T, kPadded, kExtras>(p, stream);
  }
}

template <Extras kExtras>
cudaError_t launch_gradients(const GradientParameters& p, const Launch& launch) {
  return with_shape(p.problem,
                    [&]<typename T, int kWidth>() { return launch_of_shape<T, kWidth, kExtras>(p, launch); });
}

}  // namespace quest::kernels::cuda::portable
