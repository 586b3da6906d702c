// Gradients with dropout and without an additive mask, where dQ is summed.

#include "kernels/cuda/portable/gradient_launch.cuh"

namespace quest::kernels::cuda::portable {

template cudaError_t launch_gradients<Extras::dropout>(const GradientParameters& p, const Launch& launch);

}  // namespace quest::kernels::cuda::portable
