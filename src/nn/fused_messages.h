#pragma once

// Message passing over kernels of its own, on the CPU and on NVIDIA GPUs: float32 rows, and edges as check_edges wants
// them.

#include "quest/nn/message_passing.h"

namespace quest::nn {

[[nodiscard]] bool has_fused_messages(const at::Tensor& nodes);
[[nodiscard]] at::Tensor fused_gine_sums(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges);
[[nodiscard]] GatedAverages fused_gated_averages(const at::Tensor& projections, const at::Tensor& terms,
                                                 const GraphEdges& edges);

}  // namespace quest::nn
