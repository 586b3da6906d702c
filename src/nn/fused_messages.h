#pragma once

// Message passing over the CPU's vector kernels: float32 rows without gaps, and edges as check_edges wants them.

#include "quest/nn/message_passing.h"

namespace quest::nn {

[[nodiscard]] at::Tensor fused_gine_sums(const at::Tensor& nodes, const at::Tensor& features, const GraphEdges& edges);
[[nodiscard]] GatedAverages fused_gated_averages(const at::Tensor& projections, const at::Tensor& terms,
                                                 const GraphEdges& edges);

}  // namespace quest::nn
