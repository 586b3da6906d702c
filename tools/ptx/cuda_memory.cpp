// The CUDA run-time library's memory and devices: one GPU, whose memory is the host's.

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#include "tools/ptx/memory.h"

namespace ptx = quest::testing::ptx;

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  *memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::memset(*memory, 0xFF, bytes);  // NaN in every type
  ptx::global_memory().show(*memory, bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  ptx::global_memory().hide(memory);
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "interpreter of PTX");
  properties->multiProcessorCount = 1;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 1;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t) { return "an error of the interpreter of PTX"; }
}
