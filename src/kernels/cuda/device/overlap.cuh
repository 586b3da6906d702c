#pragma once

// Kernels of one operation that overlap: each lets the next one start when all its blocks run, and waits for the one
// before when it first needs its results, then also for those before it. GPUs before Hopper run them one by one.

#include <cuda_runtime_api.h>

namespace quest::kernels::cuda {

__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The kernel may start before the one queued last has ended: it waits for it itself.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_overlapping(void (*kernel)(Parameters...), dim3 grid, int threads, int shared_bytes,
                               cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t configuration{.gridDim = grid,
                                         .blockDim = dim3(threads),
                                         .dynamicSmemBytes = static_cast<std::size_t>(shared_bytes),
                                         .stream = stream,
                                         .attrs = &attribute,
                                         .numAttrs = 1};
  return cudaLaunchKernelEx(&configuration, kernel, arguments...);
}

}  // namespace quest::kernels::cuda
