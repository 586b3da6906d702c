#pragma once

// quest::attention: a drop-in replacement for torch's scaled_dot_product_attention.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "quest/export.h"
#include "quest/formulation.h"
#include "quest/stats.h"

namespace quest {

enum class CausalAlignment {
  top_left,     // query i sees keys 0..i, as torch's is_causal
  lower_right,  // the last query sees every key: query i sees keys 0..i + Nk - Nq
};

enum class AttentionPath {
  automatic,  // the fused kernel where it can serve the call, the reference otherwise
  fused,      // throws, with the reason, when the fused kernel cannot serve the call
  reference,  // the plain formula, in the type of the inputs
};

struct AttentionOptions {
  Formulation formulation = formulations::quest;
  std::optional<double> scale = {};  // replaces the formulation's own 1/√d or 1
  at::Tensor gain = {};              // scalar, [H], [D], [H, D], [H, 1] or [1, D]
  at::Tensor mask = {};  // broadcastable to [B, H, Nq, Nk]; bool: true = may attend; else added to the logits
  bool is_causal = false;
  CausalAlignment causal_alignment = CausalAlignment::top_left;
  at::Tensor key_lengths = {};   // [B] integers: keys at and after the length do not exist
  at::Tensor cu_seqlens_q = {};  // [S + 1] integers: S sequences packed along N of a batch of one
  at::Tensor cu_seqlens_k = {};  // [S + 1]; both or neither
  bool enable_gqa = false;       // k and v may have fewer heads, each serving H / Hk consecutive query heads
  double dropout_p = 0.0;
  std::optional<std::uint64_t> dropout_seed = {};  // drawn from torch's CPU generator when absent
  AttentionPath path = AttentionPath::automatic;
};

// q [B, H, Nq, D], k [B, Hk, Nk, D], v [B, Hk, Nk, Dv] -> [B, H, Nq, Dv] in q's type.
// Differentiable in q, k, v, a learned gain and an additive mask. Rows with no visible key give 0.
[[nodiscard]] QUEST_API at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                             const AttentionOptions& options = {});

struct AttentionResult {
  at::Tensor output;
  AttentionStats stats;
};

[[nodiscard]] QUEST_API AttentionResult attention_with_stats(const at::Tensor& q, const at::Tensor& k,
                                                             const at::Tensor& v, const AttentionOptions& options = {});

}  // namespace quest
