// From a problem to kernels: which family serves it, where its rows are prepared, and how the workspace is cut.

#include <algorithm>

#include "kernels/cuda/aligned.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/choice.h"
#include "kernels/cuda/long/long.h"
#include "kernels/cuda/portable/portable.h"
#include "kernels/cuda/prepare.h"
#include "kernels/cuda/resident/resident.h"

namespace quest::kernels::cuda {
namespace {

// With as many queries as keys both alignments of the causal limit are one, and most kernels know only the first.
AttentionProblem with_one_alignment(AttentionProblem p) {
  const bool square = p.queries == p.keys && p.key_lengths == nullptr && p.cu_seqlens_q == nullptr;
  if (square && p.causal == Causal::lower_right) p.causal = Causal::top_left;
  return p;
}

// The problem alone cannot tell how grad_out lies in memory, so the workspace always suffices for the tiled kernel.
FamilyChoice backward_choice(const AttentionProblem& p, const BackwardArguments& arguments, const DeviceInfo& device) {
  if (!aligned(arguments.out, p) || !aligned(arguments.grad_out, p)) return {};
  return choose_family(p, device.compute_capability);
}

}  // namespace

std::int64_t forward_workspace(const AttentionProblem& problem, const DeviceInfo& device) {
  const KernelFamily family = choose_family(problem, device.compute_capability).family;
  if (family == KernelFamily::whole_head) return 0;
  return prepare_workspace(problem) + (family == KernelFamily::portable ? portable::forward_workspace(problem) : 0);
}

cudaError_t forward(const AttentionProblem& problem, const ForwardOutputs& outputs, const Launch& launch) {
  const AttentionProblem p = with_one_alignment(problem);
  const FamilyChoice choice = choose_family(p, launch.device.compute_capability);
  if (choice.family == KernelFamily::whole_head) return resident::forward(*choice.row, p, outputs, launch);
  const Preparation preparation =
      choice.family == KernelFamily::long_sequence ? Preparation::rounded : Preparation::factored;
  RemainingProblem prepared;
  const cudaError_t error = prepare(p, preparation, outputs.workspace, launch, prepared);
  if (error != cudaSuccess) return error;
  if (choice.family == KernelFamily::long_sequence)
    return long_sequence::forward(*choice.row, prepared, outputs, launch);
  return portable::forward(p, prepared, outputs, outputs.workspace + prepare_workspace(p), launch);
}

std::int64_t backward_workspace(const AttentionProblem& problem, bool gain_gradient, const DeviceInfo& device) {
  const FamilyChoice choice = choose_family(problem, device.compute_capability);
  const std::int64_t tiled = prepare_workspace(problem) + output_gradient_workspace(problem) +
                             portable::backward_workspace(problem, gain_gradient, device);
  if (choice.family != KernelFamily::long_sequence) return tiled;
  return std::max(tiled, long_sequence::backward_workspace(*choice.row, problem));
}

cudaError_t backward(const AttentionProblem& problem, const BackwardArguments& arguments, const Launch& launch) {
  const AttentionProblem p = with_one_alignment(problem);
  const FamilyChoice choice = backward_choice(p, arguments, launch.device);
  if (choice.family == KernelFamily::whole_head) return resident::backward(*choice.row, p, arguments, launch);
  if (choice.family == KernelFamily::long_sequence) return long_sequence::backward(*choice.row, p, arguments, launch);
  RemainingProblem prepared;
  BackwardArguments rest = arguments;
  cudaError_t error = prepare(p, Preparation::factored, arguments.workspace, launch, prepared);
  if (error != cudaSuccess) return error;
  rest.workspace += prepare_workspace(p);
  error = prepare_output_gradients(p, rest.workspace, launch, rest.grad_out);
  if (error != cudaSuccess) return error;
  rest.workspace += output_gradient_workspace(p);
  return portable::backward(p, prepared, rest, launch);
}

}  // namespace quest::kernels::cuda
