// From a problem to kernels: which family serves it, where its rows are prepared, and how the workspace is cut.

#include <algorithm>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/choice.h"
#include "kernels/cuda/long/long.h"
#include "kernels/cuda/portable/portable.h"
#include "kernels/cuda/prepare.h"
#include "kernels/cuda/short/serves.h"
#include "kernels/cuda/short/short.h"

namespace quest::kernels::cuda {
namespace {

// With as many queries as keys both alignments of the causal limit are one, and most kernels know only the first.
AttentionProblem with_one_alignment(AttentionProblem p) {
  const bool square = p.queries == p.keys && p.key_lengths == nullptr && p.cu_seqlens_q == nullptr;
  if (square && p.causal == Causal::lower_right) p.causal = Causal::top_left;
  return p;
}

// The problem alone cannot tell how grad_out lies in memory, so the workspace always suffices for the tiled kernel.
Engine backward_engine(const AttentionProblem& p, const BackwardArguments& arguments, const DeviceInfo& device) {
  const Engine engine = choose_engine(p, device.compute_capability).engine;
  const bool aligned = short_sequence::aligned(arguments.out, p) && short_sequence::aligned(arguments.grad_out, p);
  return aligned ? engine : Engine::portable;
}

}  // namespace

std::int64_t forward_workspace(const AttentionProblem& problem, const DeviceInfo& device) {
  const Engine engine = choose_engine(problem, device.compute_capability).engine;
  if (engine == Engine::short_sequence) return 0;
  return prepare_workspace(problem) + (engine == Engine::portable ? portable::forward_workspace(problem) : 0);
}

cudaError_t forward(const AttentionProblem& problem, const ForwardOutputs& outputs, const Launch& launch) {
  const AttentionProblem p = with_one_alignment(problem);
  const Engine engine = choose_engine(p, launch.device.compute_capability).engine;
  if (engine == Engine::short_sequence) return short_sequence::forward(p, outputs, launch);
  const Preparation preparation = engine == Engine::long_sequence ? Preparation::rounded : Preparation::factored;
  PreparedProblem prepared;
  const cudaError_t error = prepare(p, preparation, outputs.workspace, launch, prepared);
  if (error != cudaSuccess) return error;
  if (engine == Engine::long_sequence) return long_sequence::forward(prepared, outputs, launch);
  return portable::forward(p, prepared, outputs, outputs.workspace + prepare_workspace(p), launch);
}

std::int64_t backward_workspace(const AttentionProblem& problem, bool gain_gradient, const DeviceInfo& device) {
  const Engine engine = choose_engine(problem, device.compute_capability).engine;
  const std::int64_t tiled = prepare_workspace(problem) + output_gradient_workspace(problem) +
                             portable::backward_workspace(problem, gain_gradient, device);
  return engine == Engine::long_sequence ? std::max(tiled, long_sequence::backward_workspace(problem)) : tiled;
}

cudaError_t backward(const AttentionProblem& problem, const BackwardArguments& arguments, const Launch& launch) {
  const AttentionProblem p = with_one_alignment(problem);
  const Engine engine = backward_engine(p, arguments, launch.device);
  if (engine == Engine::short_sequence) return short_sequence::backward(p, arguments, launch);
  if (engine == Engine::long_sequence) return long_sequence::backward(p, arguments, launch);
  PreparedProblem prepared;
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
