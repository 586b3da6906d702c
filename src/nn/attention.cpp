#include "quest/nn/attention.h"

#include <torch/torch.h>

namespace quest::nn {
namespace {

std::int64_t head_dim(std::int64_t dim, std::int64_t heads) {
  TORCH_CHECK(heads > 0 && dim > 0 && dim % heads == 0,
              "quest::nn: the width of attention must be a positive multiple of its heads, got width ", dim, " and ",
              heads, " heads");
  return dim / heads;
}

// [B, N, H·D] -> [B, H, N, D], a view.
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

// [B, H, N, D] -> [B, N, H·D], a view where attention wrote its rows in that order.
at::Tensor join_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

at::Tensor rows_of(const at::Tensor& parameter, std::int64_t first, std::int64_t count) {
  return parameter.defined() ? parameter.narrow(0, first, count) : parameter;
}

}  // namespace

AttentionImpl::AttentionImpl(const AttentionOptions& given) : options(given) { reset(); }

void AttentionImpl::reset() {
  reset_formulation(*this, options.formulation(), options.heads(), head_dim(options.dim(), options.heads()));
  qkv = register_module(
      "qkv", torch::nn::Linear(torch::nn::LinearOptions(options.dim(), 3 * options.dim()).bias(options.bias())));
  proj = register_module("proj", torch::nn::Linear(options.dim(), options.dim()));
  proj_drop = register_module("proj_drop", torch::nn::Dropout(options.dropout()));
}

at::Tensor AttentionImpl::mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const AttentionInputs& inputs) {
  const std::int64_t heads = options.heads();
  const at::Tensor out = attend(
      split_heads(q, heads), split_heads(k, heads), split_heads(v, heads),
      {.is_causal = options.is_causal(), .dropout_p = is_training() ? options.attention_dropout() : 0.0}, inputs);
  return proj_drop->forward(proj->forward(join_heads(out)));
}

at::Tensor AttentionImpl::forward(const at::Tensor& x, const AttentionInputs& inputs) {
  const auto parts = qkv->forward(x).split(options.dim(), -1);
  return mix(parts[0], parts[1], parts[2], inputs);
}

at::Tensor AttentionImpl::forward_first(const at::Tensor& x, std::int64_t queries, const AttentionInputs& inputs) {
  TORCH_CHECK(
      !inputs.cu_seqlens.defined(),
      "quest::nn: forward_first takes the first tokens of every batch entry, not of packed sequences; use forward");
  const std::int64_t dim = options.dim();
  const at::Tensor q = at::linear(x.narrow(1, 0, queries), rows_of(qkv->weight, 0, dim), rows_of(qkv->bias, 0, dim));
  const auto kv = at::linear(x, rows_of(qkv->weight, dim, 2 * dim), rows_of(qkv->bias, dim, 2 * dim)).split(dim, -1);
  AttentionInputs first = inputs;
  if (first.mask.defined() && first.mask.dim() >= 2 && first.mask.size(-2) > 1) {
    first.mask = first.mask.narrow(-2, 0, queries);
  }
  return mix(q, kv[0], kv[1], first);
}

CrossAttentionImpl::CrossAttentionImpl(const CrossAttentionOptions& given) : options(given) { reset(); }

void CrossAttentionImpl::reset() {
  reset_formulation(*this, options.formulation(), options.heads(), head_dim(options.dim(), options.heads()));
  const auto linear = [&](std::int64_t in, std::int64_t out) {
    return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(options.bias()));
  };
  q = register_module("q", linear(options.dim(), options.dim()));
  kv = register_module("kv", linear(options.context_dim(), 2 * options.dim()));
  proj = register_module("proj", torch::nn::Linear(options.dim(), options.dim()));
  proj_drop = register_module("proj_drop", torch::nn::Dropout(options.dropout()));
}

at::Tensor CrossAttentionImpl::forward(const at::Tensor& x, const at::Tensor& context, const AttentionInputs& inputs) {
  const auto parts = kv->forward(context).split(options.dim(), -1);
  const std::int64_t heads = options.heads();
  const at::Tensor out =
      attend(split_heads(q->forward(x), heads), split_heads(parts[0], heads), split_heads(parts[1], heads),
             {.dropout_p = is_training() ? options.attention_dropout() : 0.0}, inputs);
  return proj_drop->forward(proj->forward(join_heads(out)));
}

ClassAttentionImpl::ClassAttentionImpl(const ClassAttentionOptions& given) : options(given) { reset(); }

void ClassAttentionImpl::reset() {
  const std::int64_t dim = options.dim();
  reset_formulation(*this, options.formulation(), options.heads(), head_dim(dim, options.heads()));
  const auto linear = [&] { return torch::nn::Linear(torch::nn::LinearOptions(dim, dim).bias(options.bias())); };
  wq = register_module("wq", linear());
  wk = register_module("wk", linear());
  wv = register_module("wv", linear());
  proj = register_module("proj", torch::nn::Linear(dim, dim));
  proj_drop = register_module("proj_drop", torch::nn::Dropout(options.dropout()));
}

at::Tensor ClassAttentionImpl::forward(const at::Tensor& x, const AttentionInputs& inputs) {
  const std::int64_t heads = options.heads();
  const at::Tensor out = attend(split_heads(wq->forward(x.narrow(1, 0, 1)), heads), split_heads(wk->forward(x), heads),
                                split_heads(wv->forward(x), heads),
                                {.dropout_p = is_training() ? options.attention_dropout() : 0.0}, inputs);
  return proj_drop->forward(proj->forward(join_heads(out)));
}

}  // namespace quest::nn
