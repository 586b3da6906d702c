#pragma once

// Attention modules written down as formulas on float64 tensors, from the parameters of a module.

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <map>
#include <string>

#include "quest/formulation.h"

namespace quest::testing {

using Weights = std::map<std::string, at::Tensor>;

// Float64 copies of the module's parameters, with gradients of their own.
Weights wide_weights(const torch::nn::Module& module);

// q, k, v [B, N, H·D] before they are cut into heads -> [B, Nq, H·D]. before: the values of the layer before, or
// undefined. visible: bool, broadcastable to [B, H, Nq, Nk], or undefined.
at::Tensor plain_attention(const Formulation& formulation, std::int64_t heads, const Weights& weights,
                           const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& before = {},
                           const at::Tensor& visible = {});

// The whole self-attention module whose parameters start with `prefix`.
at::Tensor plain_self_attention(const Formulation& formulation, std::int64_t heads, const Weights& weights,
                                const std::string& prefix, const at::Tensor& x, const at::Tensor& before = {},
                                const at::Tensor& visible = {});

}  // namespace quest::testing
