#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace quest::kernels::cuda::portable {

// What every processor from compute capability 8.0 on gives to one block.
inline constexpr int kSharedMemory = 99 * 1024;

template <typename Parameters>
cudaError_t launch_kernel(void (*kernel)(Parameters), std::int64_t blocks, int threads, int shared_bytes,
                          cudaStream_t stream, const Parameters& parameters) {
  if (blocks == 0) return cudaSuccess;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, stream>>>(parameters);
  return cudaGetLastError();
}

}  // namespace quest::kernels::cuda::portable
