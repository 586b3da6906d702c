#pragma once

// What the operators take and return. Shapes are those of the schemas in register.cpp.

#include "ops/problem.h"

namespace quest::ops {

struct ForwardResult {
  Tensor out;
  Tensor lse;  // [B, H, Nq]; beside an additive mask [2, B, H, Nq], the second part what rounding took from the first
};

struct BackwardInputs {
  Tensor grad_out;
  Tensor q;
  Tensor k;
  Tensor v;
  Tensor out;
  Tensor lse;
  bool gain_grad = false;
  bool mask_grad = false;
};

struct BackwardResult {
  Tensor grad_q;
  Tensor grad_k;
  Tensor grad_v;
  Tensor grad_gain;  // no element when not asked for
  Tensor grad_mask;  // likewise
};

struct StatisticsResult {
  Tensor max_logit;
  Tensor entropy;
  Tensor q_norm;
  Tensor k_norm;
  Tensor key_mass;
};

// Allocation and checks, the same on every device; on meta tensors they are the whole operator.
[[nodiscard]] ForwardResult new_forward_result(const Tensor& q, const Tensor& k, const Tensor& v,
                                               const CommonArguments& common);
[[nodiscard]] BackwardResult new_backward_result(const BackwardInputs& inputs, const CommonArguments& common);
[[nodiscard]] StatisticsResult new_statistics_result(const Tensor& q, const Tensor& k, const Tensor& lse,
                                                     const CommonArguments& common);
[[nodiscard]] Tensor new_dropout_factors(const Tensor& q, std::int64_t keys, double dropout_p, std::int64_t seed);

}  // namespace quest::ops
