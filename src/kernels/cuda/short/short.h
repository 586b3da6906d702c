#pragma once

// Hopper kernels in which a block owns a whole head: keys are normalised in shared memory and never leave it. For
// problems that serves() (serves.h) accepts; outputs, grad_out and gradients must be aligned() as its inputs are.

#include "kernels/attention_problem.h"
#include "kernels/cuda/launch.h"

namespace quest::kernels::cuda::short_sequence {

cudaError_t forward(const AttentionProblem& problem, const ForwardOutputs& outputs, const Launch& launch);
cudaError_t backward(const AttentionProblem& problem, const BackwardArguments& arguments, const Launch& launch);

}  // namespace quest::kernels::cuda::short_sequence
