// Gradients without an additive mask and without dropout.

#include "kernels/cuda/portable/gradient_launch.cuh"

namespace quest::kernels::cuda::portable {

template cudaError_t launch_gradients<false>(const GradientParameters& p, const Launch& launch);

}  // namespace quest::kernels::cuda::portable
