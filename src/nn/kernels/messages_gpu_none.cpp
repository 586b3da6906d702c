#include "nn/kernels/messages_gpu.h"

namespace quest::nn::kernels {

const GpuMessages* gpu_messages() { return nullptr; }

}  // namespace quest::nn::kernels
