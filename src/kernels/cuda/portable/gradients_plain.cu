// Gradients without an additive mask and without dropout. Three files, so that two cores share the work of the
// compiler.

#include "kernels/cuda/portable/gradient_launch.cuh"

namespace quest::kernels::cuda::portable {

template cudaError_t launch_gradients<Extras::none>(const GradientParameters& p, const Launch& launch);

}  // namespace quest::kernels::cuda::portable
