// The operators' schemas, and which function serves them on which device.

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

template <auto function>
void boxed_forward(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  const auto q = reader.take<Tensor>();
  const auto k = reader.take<Tensor>();
  const auto v = reader.take<Tensor>();
  const CommonArguments common = reader.take_common();
  const ForwardResult result = function(q, k, v, common);
  put_results(stack, result.out, result.lse);
}

template <auto function>
void boxed_backward(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  BackwardInputs inputs{.grad_out = reader.take<Tensor>(),
                        .q = reader.take<Tensor>(),
                        .k = reader.take<Tensor>(),
                        .v = reader.take<Tensor>(),
                        .out = reader.take<Tensor>(),
                        .lse = reader.take<Tensor>()};
  const CommonArguments common = reader.take_common();
  inputs.gain_grad = reader.take<bool>();
  inputs.mask_grad = reader.take<bool>();
  const BackwardResult result = function(inputs, common);
  put_results(stack, result.grad_q, result.grad_k, result.grad_v, result.grad_gain, result.grad_mask);
}

template <auto function>
void boxed_statistics(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  const auto q = reader.take<Tensor>();
  const auto k = reader.take<Tensor>();
  const auto lse = reader.take<Tensor>();
  const CommonArguments common = reader.take_common();
  const StatisticsResult result = function(q, k, lse, common);
  put_results(stack, result.max_logit, result.entropy, result.q_norm, result.k_norm, result.key_mass);
}

template <auto function>
void boxed_dropout_factors(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  const auto q = reader.take<Tensor>();
  const auto keys = reader.take<std::int64_t>();
  const auto dropout_p = reader.take<double>();
  const auto seed = reader.take<std::int64_t>();
  put_results(stack, function(q, keys, dropout_p, seed));
}

}  // namespace
}  // namespace quest::ops

STABLE_TORCH_LIBRARY(quest, library) {
  library.def(quest::ops::kForward);
  library.def(quest::ops::kBackward);
  library.def(quest::ops::kStatistics);
  library.def(quest::ops::kDropoutFactors);
}

STABLE_TORCH_LIBRARY_IMPL(quest, CPU, library) {
  library.impl("attention_forward", quest::ops::boxed_forward<quest::ops::cpu::forward>);
  library.impl("attention_backward", quest::ops::boxed_backward<quest::ops::cpu::backward>);
  library.impl("attention_statistics", quest::ops::boxed_statistics<quest::ops::cpu::statistics>);
  library.impl("dropout_factors", quest::ops::boxed_dropout_factors<quest::ops::cpu::dropout_factors>);
}

STABLE_TORCH_LIBRARY_IMPL(quest, Meta, library) {
  library.impl("attention_forward", quest::ops::boxed_forward<quest::ops::new_forward_result>);
  library.impl("attention_backward", quest::ops::boxed_backward<quest::ops::new_backward_result>);
  library.impl("attention_statistics", quest::ops::boxed_statistics<quest::ops::new_statistics_result>);
  library.impl("dropout_factors", quest::ops::boxed_dropout_factors<quest::ops::new_dropout_factors>);
}
