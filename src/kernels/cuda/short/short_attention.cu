// C entry points over the short-sequence kernels: one configuration per head dimension and longest length.
#include "kernels/cuda/short/resident_backward.cuh"
#include "kernels/cuda/short/short_backward.cuh"
#include "kernels/cuda/device/tensor_map.h"
#include "kernels/cuda/short/wide_backward.cuh"
#include "kernels/cuda/short/wide_forward.cuh"

namespace quest::kernels::cuda {
namespace {

template <typename Kernel, typename Problem>
int launch(Kernel kernel, const Problem& problem, int blocks, int threads, int shared_bytes, void* stream) {
  const cudaError_t set = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (set != cudaSuccess) return set;
  kernel<<<blocks, threads, shared_bytes, static_cast<cudaStream_t>(stream)>>>(problem);
  return cudaGetLastError();
}

template <int D, int kRows, int kWarps, int kForwardBlocks, int kRowTiles, int kBackwardBlocks, bool kCausal>
struct Configuration {
  static int run(const ForwardProblem& problem, void* stream) {
    const auto kernel = short_forward<D, kRows, kWarps, kForwardBlocks, kRowTiles, kCausal>;
    return launch(kernel, problem, problem.heads, kWarps * 32, 2 * Tile<D, kRows>::kBytes, stream);
  }
  static int run(const BackwardProblem& problem, void* stream) {
    const auto kernel = short_backward<D, kRows, kWarps, kBackwardBlocks, kCausal>;
    return launch(kernel, problem, problem.heads, kWarps * 32, Head<Tile<D, kRows>>::kBytes, stream);
  }
};

template <int D, int kRows, int kWarps, int kRowTiles, bool kCausal>
struct ResidentConfiguration {
  static int run(const ForwardProblem& problem, void* stream) {
    const auto kernel = short_forward<D, kRows, kWarps, 1, kRowTiles, kCausal>;
    return launch(kernel, problem, problem.heads, kWarps * 32, 2 * Tile<D, kRows>::kBytes, stream);
  }
  static int run(const BackwardProblem& problem, void* stream) {
    const auto kernel = resident_backward<D, kRows, kWarps, kCausal>;
    return launch(kernel, problem, 2 * problem.heads, kWarps * 32, kResidentBytes<D, kRows>, stream);
  }
};

int multiprocessors() {
  static const int count = [] {
    int device = 0;
    int value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
    return value;
  }();
  return count;
}

// Head dimension 64 and at most kWideRows rows.
struct WideConfiguration {
  static int run(const ForwardProblem& p, void* stream) {
    WideForwardProblem wide{.lse = p.lse, .heads = p.heads, .length = p.length};
    const auto map = [&](CUtensorMap& target, const void* data, int rows) {
      return make_tensor_map(target, data, p.heads, p.length, rows) == CUDA_SUCCESS;
    };
    const bool made = map(wide.q, p.q, kWideRows) && map(wide.k, p.k, kWideRows) && map(wide.v, p.v, kWideRows) &&
                      map(wide.out, p.out, kGroupRows);
    if (!made) return cudaErrorInvalidValue;
    return launch(wide_forward, wide, min(p.heads, multiprocessors()), kWideThreads, Pipeline<WideForwardStage>::kBytes,
                  stream);
  }

  static int run(const BackwardProblem& p, void* stream) {
    WideBackwardProblem wide{.out = p.out, .lse = p.lse, .grad_q = p.grad_q, .heads = p.heads, .length = p.length};
    const auto map = [&](CUtensorMap& target, const void* data, int rows) {
      return make_tensor_map(target, data, p.heads, p.length, rows) == CUDA_SUCCESS;
    };
    const bool made = map(wide.q, p.q, kWideRows) && map(wide.k, p.k, kWideRows) && map(wide.v, p.v, kWideRows) &&
                      map(wide.grad_out, p.grad_out, kWideRows) && map(wide.grad_k, p.grad_k, kGroupRows) &&
                      map(wide.grad_v, p.grad_v, kGroupRows);
    if (!made) return cudaErrorInvalidValue;
    return launch(wide_backward, wide, min(p.heads, multiprocessors()), kWideThreads,
                  Pipeline<WideBackwardStage>::kBytes, stream);
  }
};

template <typename Problem>
int choose(int dim, bool causal, const Problem& problem, void* stream) {
  const int length = problem.length;
  if (dim == 64 && !causal && length <= kWideRows) return WideConfiguration::run(problem, stream);
  if (dim == 64 && !causal && length <= 256) return Configuration<64, 256, 8, 2, 1, 1, false>::run(problem, stream);
  if (dim == 64 && causal && length <= 256) return Configuration<64, 256, 8, 2, 1, 1, true>::run(problem, stream);
  if (dim == 16 && causal && length <= 256) return Configuration<16, 256, 8, 4, 1, 3, true>::run(problem, stream);
  if (dim == 80 && !causal && length <= 272) return Configuration<80, 272, 9, 2, 1, 1, false>::run(problem, stream);
  if (dim == 16 && !causal && length <= 1760)
    return ResidentConfiguration<16, 1760, 28, 1, false>::run(problem, stream);
  if (dim == 32 && !causal && length <= 1024)
    return ResidentConfiguration<32, 1024, 16, 2, false>::run(problem, stream);
  return cudaErrorInvalidValue;
}

}  // namespace
}  // namespace quest::kernels::cuda

extern "C" int quest_short_forward(const quest::kernels::cuda::ForwardProblem* problem, int dim, int causal, void* stream) {
  return quest::kernels::cuda::choose(dim, causal != 0, *problem, stream);
}

extern "C" int quest_short_backward(const quest::kernels::cuda::BackwardProblem* problem, int dim, int causal, void* stream) {
  return quest::kernels::cuda::choose(dim, causal != 0, *problem, stream);
}
