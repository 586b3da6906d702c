#pragma once

// Fused attention on the CPU. Every function here is pure apart from its outputs, allocates only its own
// workspace, and gives the same bits however the caller splits the tasks over threads.

#include <cstdint>
#include <string>

#include "kernels/attention_problem.h"

namespace quest::kernels::cpu {

// Name of the instruction set the kernels run with here, e.g. "AVX3_ZEN4".
std::string instruction_set();

// --- forward: tasks are independent, run [begin, end) of them from any thread ---
std::int64_t forward_tasks(const AttentionProblem& problem);
void forward(const AttentionProblem& problem, const ForwardOutputs& outputs, std::int64_t begin, std::int64_t end);

// --- backward: fill `workspace` (backward_workspace floats) by tasks, then run the reduction's tasks ---
std::int64_t backward_workspace(const AttentionProblem& problem, bool gain_gradient);
std::int64_t backward_tasks(const AttentionProblem& problem);
void backward(const AttentionProblem& problem, const BackwardArguments& arguments, std::int64_t begin,
              std::int64_t end);
std::int64_t backward_reduce_tasks(const AttentionProblem& problem, bool gain_gradient);
void backward_reduce(const AttentionProblem& problem, const BackwardArguments& arguments, std::int64_t begin,
                     std::int64_t end);

// --- gradient of an additive mask: written in float32 with the mask's own (broadcast) shape ---
std::int64_t mask_backward_tasks(const AttentionProblem& problem, const MaskGradient& gradient);
void mask_backward(const AttentionProblem& problem, const BackwardArguments& arguments, const MaskGradient& gradient,
                   std::int64_t begin, std::int64_t end);

// --- statistics, from the log-sum-exp of a forward ---
std::int64_t statistics_tasks(const AttentionProblem& problem);
void statistics(const AttentionProblem& problem, const StatisticsOutputs& outputs, std::int64_t begin,
                std::int64_t end);

// Fills keep [Nq, Nk] of one batch entry (or packed sequence) and head with 0 or 1/(1 - p): the factors the kernels
// apply to probabilities.
void dropout_factors(float dropout_p, std::uint64_t seed, std::int64_t batch, std::int64_t head, std::int64_t queries,
                     std::int64_t keys, float* keep);

}  // namespace quest::kernels::cpu
