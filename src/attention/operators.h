#pragma once

// The operators of libquest_ops, called through torch's dispatcher. Autograd is the caller's business.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

#include "attention/call.h"

namespace quest::operators {

struct Forward {
  at::Tensor out;
  at::Tensor lse;
};

struct Gradients {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor gain;  // no element when not asked for
  at::Tensor mask;  // likewise
};

[[nodiscard]] Forward forward(const AttentionCall& call);
[[nodiscard]] Gradients backward(const AttentionCall& call, const at::Tensor& grad_out, const Forward& forward,
                                 bool gain_grad, bool mask_grad);
[[nodiscard]] AttentionStats statistics(const AttentionCall& call, const at::Tensor& lse);

// [batch, heads, queries, keys] in float32, on the CPU: what the fused kernels multiply the weights with.
[[nodiscard]] at::Tensor dropout_factors(at::IntArrayRef shape, double dropout_p, std::uint64_t seed);

}  // namespace quest::operators
