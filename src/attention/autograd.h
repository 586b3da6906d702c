#pragma once

// The fused kernels as a differentiable function.

#include "attention/operators.h"

namespace quest {

// First derivatives come from the fused backward; derivatives of derivatives from the reference.
[[nodiscard]] operators::Forward fused_attention(const AttentionCall& call);

}  // namespace quest
