// Gradients with an additive mask, perhaps with dropout.

#include "kernels/cuda/portable/gradient_launch.cuh"

namespace quest::kernels::cuda::portable {

template cudaError_t launch_gradients<Extras::additive_mask>(const GradientParameters& p, const Launch& launch);

}  // namespace quest::kernels::cuda::portable
