// The operators' schemas, and their shapes for tensors without data. Each device registers its own kernels.

#include "ops/boxing.h"
#include "ops/operators.h"

namespace quest::ops {
namespace {

#define QUEST_COMMON_SCHEMA                                                                       \
  "Tensor? gain, Tensor? mask, Tensor? key_lengths, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, " \
  "bool normalize_q, bool normalize_k, float scale, int causal, float dropout_p, int dropout_seed"

constexpr const char* kForward =
    "attention_forward(Tensor q, Tensor k, Tensor v, " QUEST_COMMON_SCHEMA ") -> (Tensor out, Tensor lse)";
constexpr const char* kBackward =
    "attention_backward(Tensor grad_out, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, " QUEST_COMMON_SCHEMA
    ", bool gain_grad, bool mask_grad) -> "
    "(Tensor grad_q, Tensor grad_k, Tensor grad_v, Tensor grad_gain, Tensor grad_mask)";
constexpr const char* kStatistics = "attention_statistics(Tensor q, Tensor k, Tensor lse, " QUEST_COMMON_SCHEMA
                                    ") -> "
                                    "(Tensor max_logit, Tensor entropy, Tensor q_norm, Tensor k_norm, Tensor key_mass)";
constexpr const char* kDropoutFactors =
    "dropout_factors(Tensor q, int keys, float dropout_p, int dropout_seed) -> Tensor";

#undef QUEST_COMMON_SCHEMA

}  // namespace
}  // namespace quest::ops

STABLE_TORCH_LIBRARY(quest, library) {
  library.def(quest::ops::kForward);
  library.def(quest::ops::kBackward);
  library.def(quest::ops::kStatistics);
  library.def(quest::ops::kDropoutFactors);
}

STABLE_TORCH_LIBRARY_IMPL(quest, Meta, library) {
  library.impl("attention_forward", quest::ops::boxed_forward<quest::ops::new_forward_result>);
  library.impl("attention_backward", quest::ops::boxed_backward<quest::ops::new_backward_result>);
  library.impl("attention_statistics", quest::ops::boxed_statistics<quest::ops::new_statistics_result>);
  library.impl("dropout_factors", quest::ops::boxed_dropout_factors<quest::ops::new_dropout_factors>);
}
