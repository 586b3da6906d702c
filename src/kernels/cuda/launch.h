#pragma once

// What every kernel family needs to know about where it runs.

#include <cuda_runtime_api.h>

namespace quest::kernels::cuda {

struct DeviceInfo {
  int compute_capability = 0;  // 10 · major + minor
  int multiprocessors = 0;
  int block_shared_memory = 0;  // bytes that one block may ask for
};

struct Launch {
  DeviceInfo device;
  cudaStream_t stream = nullptr;
};

}  // namespace quest::kernels::cuda
