#pragma once

// What a layer's attention looked like: the numbers behind a diverging or collapsing training.

#include <ATen/core/Tensor.h>

namespace quest {

// All float32 (float64 for float64 inputs), detached. B batches, H query heads, Hk key heads.
struct AttentionStats {
  at::Tensor lse;        // [B, H, Nq]  log Σ_j exp(logit_ij); -inf for a fully masked row
  at::Tensor max_logit;  // [B, H, Nq]  max_j logit_ij; -inf for a fully masked row
  at::Tensor entropy;    // [B, H, Nq]  -Σ_j p_ij log p_ij in nats, before dropout; 0 for a masked row
  at::Tensor q_norm;     // [B, H, Nq]  ‖q_i‖ as given
  at::Tensor k_norm;     // [B, Hk, Nk] ‖k_j‖ as given; 0 past key_lengths
  at::Tensor key_mass;   // [B, H, Nk]  Σ_i p_ij, before dropout: the sink score; 0 past key_lengths
};

}  // namespace quest
