#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

namespace quest::kernels::cuda {

template <typename Parameters>
cudaError_t launch_kernel(void (*kernel)(Parameters), std::int64_t blocks, int threads, int shared_bytes,
                          cudaStream_t stream, const Parameters& parameters) {
  if (blocks == 0) return cudaSuccess;
  if (blocks > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidConfiguration;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, stream>>>(parameters);
  return cudaGetLastError();
}

}  // namespace quest::kernels::cuda
