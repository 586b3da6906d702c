#pragma once

// The messages of messages.h on NVIDIA GPUs, for all nodes at once: pointers lead into the GPU's memory, and the work
// is queued on a stream, a cudaStream_t. Here too every sum belongs to one node and runs over its edges in their order.

#include "nn/kernels/messages.h"

namespace quest::nn::kernels {

struct GpuMessages {
  void (*gine_sums)(const GineProblem& problem, float* to, std::int64_t nodes, void* stream);
  void (*gine_feature_gradients)(const GineProblem& problem, const float* grad, float* grad_features,
                                 std::int64_t nodes, void* stream);
  void (*gine_node_gradients)(const GineProblem& problem, const float* grad, const float* grad_features,
                              float* grad_nodes, std::int64_t nodes, void* stream);
  void (*gated_averages)(const GatedProblem& problem, const float* terms, const GatedResults& results,
                         std::int64_t nodes, void* stream);
  void (*gated_target_gradients)(const GatedProblem& problem, const GatedGradients& gradients, std::int64_t nodes,
                                 void* stream);
  void (*gated_source_gradients)(const GatedProblem& problem, const GatedGradients& gradients, std::int64_t nodes,
                                 void* stream);
};

// Null where the library was built without CUDA. What cannot be queued throws std::runtime_error with CUDA's reason.
[[nodiscard]] const GpuMessages* gpu_messages();

}  // namespace quest::nn::kernels
