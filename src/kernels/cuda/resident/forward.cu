#include "kernels/cuda/aligned.h"
#include "kernels/cuda/group/launch.cuh"
#include "kernels/cuda/mma/launch.cuh"
#include "kernels/cuda/resident/launch.cuh"
#include "kernels/cuda/resident/resident.h"
#include "kernels/cuda/wide/launch.cuh"

namespace quest::kernels::cuda::resident {

cudaError_t forward(const KernelRow& row, const AttentionProblem& p, const ForwardOutputs& o, const Launch& launch) {
  if (!aligned(o.out, p)) return cudaErrorInvalidValue;
  return with_type(p.type, [&](auto element) {
    using T = decltype(element);
    if (row.forward == Kernel::wide_forward) return wide::start_forward<T>(p, o, launch);
    const ForwardProblem<T> problem = forward_problem<T>(p, o);
    return with_dim(row, [&](auto dim) {
      return row.forward == Kernel::group_forward ? group::start_forward<T, dim.value>(problem, launch)
                                                  : mma::start_forward<T, dim.value>(problem, launch);
    });
  });
}

}  // namespace quest::kernels::cuda::resident
