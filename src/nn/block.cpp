#include "quest/nn/block.h"

#include <torch/torch.h>

namespace quest::nn {

BlockImpl::BlockImpl(const BlockOptions& given) : options(given) { reset(); }

void BlockImpl::reset() {
  const auto norm = [&] {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.dim()}).eps(options.norm_eps()));
  };
  norm1 = register_module("norm1", norm());
  attn = register_module("attn", Attention(AttentionOptions(options.dim(), options.heads())
                                               .formulation(options.formulation())
                                               .bias(options.qkv_bias())
                                               .is_causal(options.is_causal())
                                               .attention_dropout(options.attention_dropout())
                                               .dropout(options.dropout())));
  norm2 = register_module("norm2", norm());
  mlp = register_module("mlp", Mlp(MlpOptions(options.dim(), options.mlp_hidden()).dropout(options.dropout())));
  drop_path = register_module("drop_path", DropPath(options.drop_path()));
  if (options.layer_scale()) {
    ls1 = register_module("ls1", LayerScale(options.dim(), *options.layer_scale()));
    ls2 = register_module("ls2", LayerScale(options.dim(), *options.layer_scale()));
  }
}

at::Tensor BlockImpl::add_branch(const at::Tensor& x, const at::Tensor& branch, LayerScale& scale) {
  const at::Tensor scaled = drop_path->forward(scale ? scale->forward(branch) : branch);
  // The branch is nobody else's and its producers do not need it again. Under autocast it is narrower than the residual
  // stream, which must not be narrowed.
  return scaled.scalar_type() == x.scalar_type() ? scaled.add_(x) : x + scaled;
}

at::Tensor BlockImpl::finish(const at::Tensor& x, const at::Tensor& attended) {
  if (options.norm_place() == NormPlace::post) {
    const at::Tensor middle = norm1->forward(add_branch(x, attended, ls1));
    return norm2->forward(add_branch(middle, mlp->forward(middle), ls2));
  }
  const at::Tensor middle = add_branch(x, attended, ls1);
  return add_branch(middle, mlp->forward(norm2->forward(middle)), ls2);
}

at::Tensor BlockImpl::forward(const at::Tensor& x, const AttentionInputs& inputs) {
  const at::Tensor read = options.norm_place() == NormPlace::pre ? norm1->forward(x) : x;
  return finish(x, attn->forward(read, inputs));
}

at::Tensor BlockImpl::forward_first(const at::Tensor& x, std::int64_t tokens, const AttentionInputs& inputs) {
  const at::Tensor read = options.norm_place() == NormPlace::pre ? norm1->forward(x) : x;
  return finish(x.narrow(1, 0, tokens), attn->forward_first(read, tokens, inputs));
}

double BlockImpl::forward_flops(std::int64_t tokens, std::int64_t first_tokens) const {
  const auto dim = static_cast<double>(options.dim());
  const auto keys = static_cast<double>(tokens);
  // Queries, their logits and averages, the projection and the MLP.
  const double per_query = 2 * dim * dim + 2 * keys * dim + 2 * dim * static_cast<double>(options.mlp_hidden());
  return 2 * (keys * 2 * dim * dim + static_cast<double>(first_tokens) * per_query);
}

at::Tensor run_blocks(torch::nn::ModuleList& blocks, at::Tensor x, std::int64_t read, AttentionInputs inputs) {
  at::Tensor layer_values;
  if (inputs.layer_values == nullptr) {
    inputs.layer_values = &layer_values;
  }
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    auto& block = blocks->at<BlockImpl>(i);
    const bool reads_all = i + 1 < blocks->size() || read == x.size(1);
    x = reads_all ? block.forward(x, inputs) : block.forward_first(x, read, inputs);
  }
  return x;
}

double blocks_flops(const torch::nn::ModuleList& blocks, std::int64_t tokens, std::int64_t read) {
  double flops = 0.0;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    flops += blocks->at<BlockImpl>(i).forward_flops(tokens, i + 1 < blocks->size() ? tokens : read);
  }
  return flops;
}

}  // namespace quest::nn
