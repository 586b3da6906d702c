#pragma once

// From queries and keys as given to those a tiled kernel multiplies: normalised, times gain and scale, rounded to the
// storage type. Plain rows (no normalisation, no gain) are left where they are.

#include <cstdint>

#include "kernels/attention_problem.h"
#include "kernels/cuda/launch.h"

namespace quest::kernels::cuda {

// The problem that remains: normalize_q, normalize_k and gain are off, q and k point to prepared rows (dense
// [B, H, N, D] of the storage type) where they had to be rewritten, `scale` is what is still to be multiplied in.
struct PreparedProblem {
  AttentionProblem problem;
  // 1/‖q‖ [B, H, Nq] and 1/‖k‖ [B, Hk, Nk], dense, where they are normalised; 0 for a zero row, NaN for one with
  // something that is not finite.
  const float* query_reciprocals = nullptr;
  const float* key_reciprocals = nullptr;
  const float* key_factors = nullptr;  // [B, Hk, Nk] dense, of NormalizedKeys::factored; null: 1
};

// How keys are stored that are to be normalised.
enum class NormalizedKeys {
  rounded,   // k/‖k‖ in the storage type
  factored,  // k times the power of two that brings ‖k‖ into (0.5, 1], which rounds nothing; the rest of 1/‖k‖, in
             // [1, 2), is a factor that the kernel multiplies into scores
};

std::int64_t prepare_workspace(const AttentionProblem& problem);  // floats
// Queues the kernels that fill the workspace and describes the result.
cudaError_t prepare(const AttentionProblem& problem, NormalizedKeys keys, float* workspace, const Launch& launch,
                    PreparedProblem& result);

// ‖q‖ [B, H, Nq] and ‖k‖ [B, Hk, Nk] of the rows as given; 0 for keys that the lengths declare absent.
cudaError_t query_norms(const AttentionProblem& problem, float* norms, const Launch& launch);
cudaError_t key_norms(const AttentionProblem& problem, float* norms, const Launch& launch);

}  // namespace quest::kernels::cuda
