#pragma once

// Tiled kernels over mma.sync: every option, every type, head dimensions up to 256, compute capability 8.0 and newer.

#include <cstdint>

#include "kernels/cuda/prepare.h"

namespace quest::kernels::cuda::portable {

// Workspaces are beyond what preparing needs, in floats; aligned to 8 bytes. Problems are prepared as
// Preparation::factored; `original` is what they were before.
std::int64_t forward_workspace(const AttentionProblem& problem);
cudaError_t forward(const AttentionProblem& original, const RemainingProblem& prepared, const ForwardOutputs& outputs,
                    float* workspace, const Launch& launch);

std::int64_t backward_workspace(const AttentionProblem& problem, bool gain_gradient, const DeviceInfo& device);
// The epilogues lead the gradients back through gain and normalisation. arguments.grad_out is prepared, and
// arguments.workspace what is left of it.
cudaError_t backward(const AttentionProblem& original, const RemainingProblem& prepared,
                     const BackwardArguments& arguments, const Launch& launch);

}  // namespace quest::kernels::cuda::portable
