#include "tests/nn/plain_attention.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace quest::testing {
namespace {

at::Tensor heads_of(const at::Tensor& x, std::int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, -1}).permute({0, 2, 1, 3});
}

at::Tensor unit(const at::Tensor& x) { return x / x.square().sum(-1, /*keepdim=*/true).sqrt(); }

Weights below(const Weights& weights, const std::string& prefix) {
  Weights inner;
  for (const auto& [name, value] : weights) {
    if (name.starts_with(prefix)) {
      inner[name.substr(prefix.size())] = value;
    }
  }
  return inner;
}

// What the logits of one query are multiplied with, broadcastable to [B, H, N, D].
at::Tensor gain_of(const Weights& weights, const at::Tensor& v, const at::Tensor& before) {
  if (weights.contains("quest_log_gain")) {
    return weights.at("quest_log_gain").clamp_max(std::log(100.0)).exp().unsqueeze(1);
  }
  if (weights.contains("quest_query_gain")) {
    return (weights.at("quest_query_gain") * weights.at("quest_key_gain")).unsqueeze(1);
  }
  if (before.defined()) {
    const at::Tensor moved = (v - before).abs().mean(2, true).detach();
    return moved / moved.amax(-1, true);
  }
  return at::ones({1}, v.options());
}

}  // namespace

Weights wide_weights(const torch::nn::Module& module) {
  Weights weights;
  for (const auto& item : module.named_parameters()) {
    weights[item.key()] = item.value().detach().to(at::kDouble).requires_grad_();
  }
  return weights;
}

at::Tensor plain_attention(const Formulation& formulation, std::int64_t heads, const Weights& weights,
                           const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& before,
                           const at::Tensor& visible) {
  const at::Tensor query = formulation.normalize_q ? unit(heads_of(q, heads)) : heads_of(q, heads);
  const at::Tensor key = formulation.normalize_k ? unit(heads_of(k, heads)) : heads_of(k, heads);
  const at::Tensor value = heads_of(v, heads);
  const double scale = formulation.divide_by_sqrt_dim ? 1.0 / std::sqrt(static_cast<double>(query.size(-1))) : 1.0;
  at::Tensor logits = at::matmul(query * gain_of(weights, value, before) * scale, key.transpose(-2, -1));
  if (visible.defined()) {
    logits = logits.masked_fill(visible.logical_not(), -std::numeric_limits<double>::infinity());
  }
  return at::matmul(logits.softmax(-1), value).permute({0, 2, 1, 3}).reshape({q.size(0), q.size(1), -1});
}

at::Tensor plain_self_attention(const Formulation& formulation, std::int64_t heads, const Weights& all,
                                const std::string& prefix, const at::Tensor& x, const at::Tensor& before,
                                const at::Tensor& visible) {
  const Weights weights = below(all, prefix);
  const auto qkv =
      at::linear(x, weights.at("qkv.weight"), weights.contains("qkv.bias") ? weights.at("qkv.bias") : at::Tensor())
          .chunk(3, -1);
  return at::linear(plain_attention(formulation, heads, weights, qkv[0], qkv[1], qkv[2], before, visible),
                    weights.at("proj.weight"), weights.at("proj.bias"));
}

}  // namespace quest::testing
