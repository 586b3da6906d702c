#pragma once

// The plain formula, one tensor operation per line of mathematics, in the type of its inputs (the tests give it
// float64). Written from the definition, not from the library: both the kernels and the library's reference answer to
// it.

#include "quest/attention.h"

namespace quest::testing {

AttentionResult oracle_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const AttentionOptions& options);

// The attention weights before dropout, [B, H, Nq, Nk].
at::Tensor oracle_weights(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options);

// [B, H, Nq, Nk]: which query sees which key, from causality, lengths, packing and the mask together.
at::Tensor oracle_visibility(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options);

// The largest element of each gradient when every term of its sums is replaced by its magnitude. Terms may cancel, as
// for a single key, whose weight cannot change; then their rounding is all that is left of a gradient.
struct GradientTerms {
  double q = 0.0, k = 0.0, v = 0.0, gain = 0.0, mask = 0.0;
};

// Of the whole gradient, or only of the part that the output enters, Σ_d |grad_out · output|.
enum class TermSource { everything, output };
GradientTerms gradient_terms(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& grad_out,
                             const AttentionOptions& options, TermSource source);

}  // namespace quest::testing
