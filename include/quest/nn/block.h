#pragma once

// One layer of a Transformer: attention and an MLP, each with its residual connection.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>

#include "quest/nn/attention.h"
#include "quest/nn/drop_path.h"
#include "quest/nn/layer_scale.h"
#include "quest/nn/mlp.h"

namespace quest::nn {

enum class NormPlace {
  pre,   // x + branch(norm(x))
  post,  // norm(x + branch(x))
};

struct BlockOptions {
  BlockOptions(std::int64_t dim, std::int64_t heads) : dim_(dim), heads_(heads), mlp_hidden_(4 * dim) {}

  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::int64_t, heads);
  TORCH_ARG(std::int64_t, mlp_hidden);
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(NormPlace, norm_place) = NormPlace::pre;
  TORCH_ARG(double, norm_eps) = 1e-6;
  TORCH_ARG(bool, qkv_bias) = true;
  TORCH_ARG(bool, is_causal) = false;
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(double, attention_dropout) = 0.0;
  TORCH_ARG(double, drop_path) = 0.0;
  TORCH_ARG(std::optional<double>, layer_scale) = {};  // the start of ls1 and ls2; absent: there are none
};

class QUEST_API BlockImpl : public torch::nn::Cloneable<BlockImpl> {
 public:
  BlockImpl(std::int64_t dim, std::int64_t heads) : BlockImpl(BlockOptions(dim, heads)) {}
  explicit BlockImpl(const BlockOptions& options);

  void reset() override;
  at::Tensor forward(const at::Tensor& x, const AttentionInputs& inputs = {});

  // The same as forward(x).narrow(1, 0, tokens), without computing the others: for a last layer of which only the
  // class token is read.
  at::Tensor forward_first(const at::Tensor& x, std::int64_t tokens, const AttentionInputs& inputs = {});

  // Multiplications and additions of forward_first, per sample.
  [[nodiscard]] double forward_flops(std::int64_t tokens, std::int64_t first_tokens) const;

  BlockOptions options;
  torch::nn::LayerNorm norm1{nullptr};
  Attention attn{nullptr};
  LayerScale ls1{nullptr};
  torch::nn::LayerNorm norm2{nullptr};
  Mlp mlp{nullptr};
  LayerScale ls2{nullptr};
  DropPath drop_path{nullptr};

 private:
  at::Tensor add_branch(const at::Tensor& x, const at::Tensor& branch, LayerScale& scale);
  at::Tensor finish(const at::Tensor& x, const at::Tensor& attended);
};

TORCH_MODULE(Block);

// The blocks of a model one after the other, of which the first `read` tokens are read.
// x [B, N, dim] -> [B, read, dim]. Each block gets the values of the one before, the first those in the inputs.
QUEST_API at::Tensor run_blocks(torch::nn::ModuleList& blocks, at::Tensor x, std::int64_t read,
                                AttentionInputs inputs = {});
[[nodiscard]] QUEST_API double blocks_flops(const torch::nn::ModuleList& blocks, std::int64_t tokens,
                                            std::int64_t read);

}  // namespace quest::nn
