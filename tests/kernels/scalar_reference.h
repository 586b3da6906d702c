#pragma once

// Attention and its derivatives as plain double loops over one element at a time. Only the sum of a score and an
// additive mask is rounded to float32: no kernel has more of a score than that leaves beside a large mask.

#include <cstdint>
#include <vector>

#include "kernels/attention_problem.h"
#include "tests/kernels/storage.h"

namespace quest::testing {

struct ScalarResults {
  std::vector<double> out;                              // [B, H, Nq, Dv]; B is one when packed
  std::vector<double> lse, max_logit, entropy, q_norm;  // [B, H, Nq]
  std::vector<double> k_norm;                           // [B, Hk, Nk]
  std::vector<double> key_mass;                         // [B, H, Nk]
  std::vector<double> grad_q, grad_k, grad_v;           // as q, k, v
  std::vector<double> grad_gain;                        // [H, D]
  std::vector<double> grad_logits;                      // [B, H, Nq, Nk]: the gradient of a full additive mask
};

ScalarResults scalar_attention(const kernels::AttentionProblem& problem, const Buffer& grad_out);

// The same, but with gradients from the output as it was stored, the way a backward pass gets it.
ScalarResults scalar_attention(const kernels::AttentionProblem& problem, const Buffer& grad_out,
                               const Buffer& stored_out);

// The gradients with every term of their sums replaced by its magnitude. Where terms cancel, as for a single key, whose
// probability cannot change, the rounding of these remains.
ScalarResults scalar_magnitudes(const kernels::AttentionProblem& problem, const Buffer& grad_out);

}  // namespace quest::testing
