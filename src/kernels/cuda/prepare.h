#pragma once

// From rows as given to those a tiled kernel multiplies. Plain rows (no normalisation, no gain) that are whole words of
// 16 bytes are left where they are.

#include <cstdint>

#include "kernels/attention_problem.h"
#include "kernels/cuda/launch.h"

namespace quest::kernels::cuda {

// The problem that remains: normalize_q, normalize_k and gain are off, q, k and v point to prepared rows (dense
// [B, H, N, dim] of the storage type) where they had to be rewritten, `scale` is what is still to be multiplied in.
// `dim` and `value_dim` are whole words of 16 bytes, the columns past those given are zero.
struct RemainingProblem {
  AttentionProblem problem;
  // 1/‖q‖ [B, H, Nq] and 1/‖k‖ [B, Hk, Nk], dense, where they are normalised; 0 for a zero row, NaN for one with
  // something that is not finite.
  const float* query_reciprocals = nullptr;
  const float* key_reciprocals = nullptr;
  // What scores are still to be multiplied by, [B, H, Nq] and [B, Hk, Nk] dense; null: 1.
  const float* query_factors = nullptr;
  const float* key_factors = nullptr;
  // `dim` is 16 instead of up to 8 where queries of a 16-bit type had a gain of several dimensions: columns 8 to 15 of
  // a query are what rounding took from columns 0 to 7, those of a key repeat them.
  bool repeats_keys = false;
};

enum class Preparation {
  // Rows x/‖x‖, and queries times gain and scale, in the storage type.
  rounded,
  // Rows times the power of two that brings ‖x‖ into (0.5, 1], which rounds nothing. The rest of 1/‖x‖, in [1, 2), and
  // the gain of a head are factors. Only a gain of several dimensions is multiplied into queries.
  factored,
};

std::int64_t prepare_workspace(const AttentionProblem& problem);  // floats
// Queues the kernels that fill the workspace and describes the result.
cudaError_t prepare(const AttentionProblem& problem, Preparation preparation, float* workspace, const Launch& launch,
                    RemainingProblem& result);

// Gives the gradients of the output the columns of RemainingProblem's values, in the workspace where they have to be
// added.
std::int64_t output_gradient_workspace(const AttentionProblem& problem);  // floats
cudaError_t prepare_output_gradients(const AttentionProblem& problem, float* workspace, const Launch& launch,
                                     Input& grad_out);

// ‖q‖ [B, H, Nq] and ‖k‖ [B, Hk, Nk] of the rows as given; 0 for keys that the lengths declare absent.
cudaError_t query_norms(const AttentionProblem& problem, float* norms, const Launch& launch);
cudaError_t key_norms(const AttentionProblem& problem, float* norms, const Launch& launch);

}  // namespace quest::kernels::cuda
