#pragma once

// Hopper kernels for long sequences: the copy engine feeds tiles of unit keys and values to warpgroups that own rows.

#include <cstdint>

#include "kernels/cuda/kernel_table.h"
#include "kernels/cuda/prepare.h"

namespace quest::kernels::cuda::long_sequence {

cudaError_t forward(const KernelRow& row, const RemainingProblem& prepared, const ForwardOutputs& outputs,
                    const Launch& launch);

std::int64_t backward_workspace(const KernelRow& row, const AttentionProblem& problem);  // floats
cudaError_t backward(const KernelRow& row, const AttentionProblem& problem, const BackwardArguments& arguments,
                     const Launch& launch);

}  // namespace quest::kernels::cuda::long_sequence
