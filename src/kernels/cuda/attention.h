#pragma once

// Fused attention on NVIDIA GPUs from compute capability 8.0 on. Every function only queues work on the stream: no
// synchronisation, no allocation, safe to capture into a CUDA graph; same inputs, same bits. The caller provides the
// workspace named in the arguments, as many floats as the function's ..._workspace says. Rows that are whole words of
// 16 bytes have to lie at multiples of 16 bytes.

#include <cstdint>

#include "kernels/attention_problem.h"
#include "kernels/cuda/launch.h"

namespace quest::kernels::cuda {

std::int64_t forward_workspace(const AttentionProblem& problem, const DeviceInfo& device);
cudaError_t forward(const AttentionProblem& problem, const ForwardOutputs& outputs, const Launch& launch);

std::int64_t backward_workspace(const AttentionProblem& problem, bool gain_gradient, const DeviceInfo& device);
cudaError_t backward(const AttentionProblem& problem, const BackwardArguments& arguments, const Launch& launch);

// arguments as for backward: out, grad_out, lse and lse_low are read, workspace is as large as backward_workspace says.
cudaError_t mask_backward(const AttentionProblem& problem, const BackwardArguments& arguments,
                          const MaskGradient& gradient, const Launch& launch);

std::int64_t statistics_workspace(const AttentionProblem& problem);
cudaError_t statistics(const AttentionProblem& problem, const StatisticsOutputs& outputs, const Launch& launch);

// factors [batch, heads, queries, keys] dense: 0 or 1/(1 - p), as the kernels apply them.
cudaError_t dropout_factors(float dropout_p, std::uint64_t seed, std::int64_t batch, std::int64_t heads,
                            std::int64_t queries, std::int64_t keys, float* factors, const Launch& launch);

}  // namespace quest::kernels::cuda
