// Gradients with an additive mask or dropout. A file of its own, so that two cores share the work of the compiler.

#include "kernels/cuda/portable/gradient_launch.cuh"

namespace quest::kernels::cuda::portable {

template cudaError_t launch_gradients<true>(const GradientParameters& p, const Launch& launch);

}  // namespace quest::kernels::cuda::portable
