#pragma once

// Self and cross attention as modules, in every formulation. Parameters have timm's names; a formulation with a learned
// gain adds quest_log_gain, or quest_query_gain and quest_key_gain.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <functional>

#include "quest/attention.h"

namespace quest::nn {

// What one call of an attention layer computed with. The tensors are detached.
struct AttentionProbe {
  at::Tensor q;  // [B, H, Nq, D]
  at::Tensor k;  // [B, H, Nk, D]
  quest::AttentionOptions options;
  AttentionStats stats;
};

using AttentionObserver = std::function<void(const AttentionProbe&)>;

// What a call may be given besides the tokens.
struct AttentionInputs {
  at::Tensor mask = {};         // as quest::AttentionOptions::mask
  at::Tensor key_lengths = {};  // [B] integers: tokens at and after the length are padding
  at::Tensor cu_seqlens = {};   // [S + 1] integers: S sequences packed along the tokens of a batch of one
  // The values of the layer before, which the layer replaces by its own. The elliptical formulations estimate their
  // gain from the two; without a layer before, the gain is 1.
  at::Tensor* layer_values = nullptr;
};

// What every attention module does between its projections.
class QUEST_API AttentionBase {
 public:
  virtual ~AttentionBase() = default;

  // While there is an observer, forward also computes statistics and calls it. An empty one ends that.
  void observe(AttentionObserver observer);

 protected:
  // Registers the gains that the formulation learns, at their initial values, as parameters of the module.
  void reset_formulation(torch::nn::Module& module, const Formulation& formulation, std::int64_t heads,
                         std::int64_t head_dim);

  // q, k, v [B, H, N, D] -> [B, H, Nq, D]. `options` lacks what the formulation and the inputs give.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, quest::AttentionOptions options,
                    const AttentionInputs& inputs);

 private:
  [[nodiscard]] at::Tensor learned_gain() const;

  Formulation formulation_;
  at::Tensor log_gain_;
  at::Tensor query_gain_;
  at::Tensor key_gain_;
  AttentionObserver observer_;
};

struct AttentionOptions {
  AttentionOptions(std::int64_t dim, std::int64_t heads) : dim_(dim), heads_(heads) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::int64_t, heads);
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(bool, bias) = true;  // of the projections to queries, keys and values
  TORCH_ARG(bool, is_causal) = false;
  TORCH_ARG(double, attention_dropout) = 0.0;
  TORCH_ARG(double, dropout) = 0.0;  // of the output
};

// [B, N, dim] -> [B, N, dim]
class QUEST_API AttentionImpl : public torch::nn::Cloneable<AttentionImpl>, public AttentionBase {
 public:
  AttentionImpl(std::int64_t dim, std::int64_t heads) : AttentionImpl(AttentionOptions(dim, heads)) {}
  explicit AttentionImpl(const AttentionOptions& options);

  void reset() override;
  at::Tensor forward(const at::Tensor& x, const AttentionInputs& inputs = {});

  // The same as forward(x).narrow(1, 0, queries), without computing the other rows.
  at::Tensor forward_first(const at::Tensor& x, std::int64_t queries, const AttentionInputs& inputs = {});

  AttentionOptions options;
  torch::nn::Linear qkv{nullptr};
  torch::nn::Linear proj{nullptr};
  torch::nn::Dropout proj_drop{nullptr};

 private:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionInputs& inputs);
};

TORCH_MODULE(Attention);

struct CrossAttentionOptions {
  CrossAttentionOptions(std::int64_t dim, std::int64_t heads) : dim_(dim), heads_(heads), context_dim_(dim) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::int64_t, heads);
  TORCH_ARG(std::int64_t, context_dim);
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(bool, bias) = true;
  TORCH_ARG(double, attention_dropout) = 0.0;
  TORCH_ARG(double, dropout) = 0.0;
};

// Queries from x [B, N, dim], keys and values from context [B, M, context_dim] -> [B, N, dim]
class QUEST_API CrossAttentionImpl : public torch::nn::Cloneable<CrossAttentionImpl>, public AttentionBase {
 public:
  CrossAttentionImpl(std::int64_t dim, std::int64_t heads) : CrossAttentionImpl(CrossAttentionOptions(dim, heads)) {}
  explicit CrossAttentionImpl(const CrossAttentionOptions& options);

  void reset() override;
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context, const AttentionInputs& inputs = {});

  CrossAttentionOptions options;
  torch::nn::Linear q{nullptr};
  torch::nn::Linear kv{nullptr};
  torch::nn::Linear proj{nullptr};
  torch::nn::Dropout proj_drop{nullptr};
};

TORCH_MODULE(CrossAttention);

struct ClassAttentionOptions {
  ClassAttentionOptions(std::int64_t dim, std::int64_t heads) : dim_(dim), heads_(heads) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::int64_t, heads);
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(bool, bias) = true;
  TORCH_ARG(double, attention_dropout) = 0.0;
  TORCH_ARG(double, dropout) = 0.0;
};

// The query from the first token alone, keys and values from all of them: [B, N, dim] -> [B, 1, dim]. Names as in
// CrossViT: wq, wk, wv, proj.
class QUEST_API ClassAttentionImpl : public torch::nn::Cloneable<ClassAttentionImpl>, public AttentionBase {
 public:
  ClassAttentionImpl(std::int64_t dim, std::int64_t heads) : ClassAttentionImpl(ClassAttentionOptions(dim, heads)) {}
  explicit ClassAttentionImpl(const ClassAttentionOptions& options);

  void reset() override;
  at::Tensor forward(const at::Tensor& x, const AttentionInputs& inputs = {});

  ClassAttentionOptions options;
  torch::nn::Linear wq{nullptr};
  torch::nn::Linear wk{nullptr};
  torch::nn::Linear wv{nullptr};
  torch::nn::Linear proj{nullptr};
  torch::nn::Dropout proj_drop{nullptr};
};

TORCH_MODULE(ClassAttention);

}  // namespace quest::nn
