#include "nn/kernels/batch_norm_gpu.h"

namespace quest::nn::kernels {

std::int64_t norm_workspace(std::int64_t /*rows*/, std::int64_t /*dim*/) { return 0; }
const GpuNorm* gpu_norm() { return nullptr; }

}  // namespace quest::nn::kernels
