#include "kernels/cuda/aligned.h"
#include "kernels/cuda/group/launch.cuh"
#include "kernels/cuda/mma/launch.cuh"
#include "kernels/cuda/resident/launch.cuh"
#include "kernels/cuda/resident/resident.h"
#include "kernels/cuda/wide/launch.cuh"

namespace quest::kernels::cuda::resident {

cudaError_t backward(const KernelRow& row, const AttentionProblem& p, const BackwardArguments& a,
                     const Launch& launch) {
  const bool good = aligned(a.out, p) && aligned(a.grad_out, p) && aligned(a.grad_q, p) && aligned(a.grad_k, p) &&
                    aligned(a.grad_v, p);
  if (!good) return cudaErrorInvalidValue;
  return with_type(p.type, [&](auto element) {
    using T = decltype(element);
    if (row.backward == Kernel::wide_backward) return wide::start_backward<T>(p, a, launch);
    const BackwardProblem<T> problem = backward_problem<T>(p, a, launch);
    return with_dim(row, [&](auto dim) {
      if (row.backward == Kernel::mma_head_backward) return mma::start_head_backward<T, dim.value>(problem, launch);
      if (row.backward == Kernel::group_backward) return group::start_backward<T, dim.value>(problem, launch);
      return mma::start_split_backward<T, dim.value>(problem, launch);
    });
  });
}

}  // namespace quest::kernels::cuda::resident
