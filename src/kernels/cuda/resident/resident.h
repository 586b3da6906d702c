#pragma once

// Hopper kernels in which a block owns a whole head, or half of its work: keys are normalised in shared memory and
// never leave it. They take rows of the table (kernel_table.h) that keep whole heads.

#include "kernels/attention_problem.h"
#include "kernels/cuda/kernel_table.h"
#include "kernels/cuda/launch.h"

namespace quest::kernels::cuda::resident {

// Outputs and gradients have to be aligned() as the problem is, and so have out and grad_out.
cudaError_t forward(const KernelRow& row, const AttentionProblem& problem, const ForwardOutputs& outputs,
                    const Launch& launch);
cudaError_t backward(const KernelRow& row, const AttentionProblem& problem, const BackwardArguments& arguments,
                     const Launch& launch);

}  // namespace quest::kernels::cuda::resident
