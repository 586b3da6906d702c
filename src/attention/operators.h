#pragma once

// The operators of libquest_ops and libquest_ops_cuda, called through torch's dispatcher. Autograd is the caller's
// business.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

#include "attention/call.h"

namespace quest::operators {

struct Forward {
  at::Tensor out;
  // [B, H, Nq]; beside an additive mask [2, B, H, Nq], the second part what rounding took from the first.
  at::Tensor lse;
};

struct Gradients {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor gain;  // no element when not asked for
  at::Tensor mask;  // likewise
};

// Tensors of this device have fused kernels: their operator library is loaded.
[[nodiscard]] bool serve(at::Device device);

[[nodiscard]] Forward forward(const AttentionCall& call);
[[nodiscard]] Gradients backward(const AttentionCall& call, const at::Tensor& grad_out, const Forward& forward,
                                 bool gain_grad, bool mask_grad);
[[nodiscard]] AttentionStats statistics(const AttentionCall& call, const at::Tensor& lse);

// [batch, heads, queries, keys] in float32: what the fused kernels multiply the weights with. Drawn on the device, or
// on the CPU where the device has no operators.
[[nodiscard]] at::Tensor dropout_factors(at::IntArrayRef shape, double dropout_p, std::uint64_t seed,
                                         at::Device device);

}  // namespace quest::operators
