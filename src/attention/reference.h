#pragma once

// Attention as its formula, in differentiable torch operations and in the type of the inputs (float32 for 16-bit ones).
// The oracle of the tests, and what serves a call the fused kernels cannot.

#include "attention/call.h"

namespace quest {

[[nodiscard]] at::Tensor reference_attention(const AttentionCall& call);

[[nodiscard]] AttentionStats reference_statistics(const AttentionCall& call);

}  // namespace quest
