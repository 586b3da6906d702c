#pragma once

// CrossViT (Chen, Fan and Panda 2021): two vision transformers see the same image, one in fine and one in coarse
// patches, and after every stage the class token of each reads the patches of the other. Parameters have the names of
// the published implementation.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quest/models/load_weights.h"
#include "quest/nn/block.h"

namespace quest::models {

struct CrossViTBranch {
  std::int64_t image_size;  // of the coarse one: the image is resized to it
  std::int64_t patch_size;
  std::int64_t dim;
  std::int64_t depth;  // blocks of each stage
  std::int64_t heads;
};

// The defaults are CrossViT-9†.
struct CrossViTOptions {
  TORCH_ARG(CrossViTBranch, fine) = {.image_size = 240, .patch_size = 12, .dim = 128, .depth = 1, .heads = 4 };
  TORCH_ARG(CrossViTBranch, coarse) = {.image_size = 224, .patch_size = 16, .dim = 256, .depth = 3, .heads = 4 };
  TORCH_ARG(std::int64_t, stages) = 3;
  TORCH_ARG(double, mlp_ratio) = 3.0;
  // †: patches by three convolutions instead of one
  TORCH_ARG(bool, three_convolutions) = true;
  TORCH_ARG(std::int64_t, channels) = 3;
  TORCH_ARG(std::int64_t, classes) = 1000;
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(double, attention_dropout) = 0.0;
  TORCH_ARG(double, drop_path) = 0.0;  // of the last coarse block; it grows linearly from 0 in the first
};

// "9-dagger", "small" and "18-dagger" as published. Throws c10::Error that names them.
[[nodiscard]] QUEST_API CrossViTOptions cross_vit_options(std::string_view name);
[[nodiscard]] QUEST_API std::span<const std::string_view> cross_vit_names();

// What the class token of one branch reads in the patches of the other: x + drop_path(attn(norm1(tokens))) of the first
// of the tokens [B, N, dim] -> [B, 1, dim].
class QUEST_API CrossViTFusionImpl : public torch::nn::Cloneable<CrossViTFusionImpl> {
 public:
  CrossViTFusionImpl(const nn::ClassAttentionOptions& attention, double drop_path);

  void reset() override;
  at::Tensor forward(const at::Tensor& tokens, const nn::AttentionInputs& inputs);

  nn::ClassAttentionOptions options;
  double drop_path_rate;
  torch::nn::LayerNorm norm1{nullptr};
  nn::ClassAttention attn{nullptr};
  nn::DropPath drop_path{nullptr};
};

TORCH_MODULE(CrossViTFusion);

// One tensor for each branch: the fine one, the coarse one.
using BranchTensors = std::array<at::Tensor, 2>;

// Parameters "0" and "1", [1, tokens, dim] of each branch.
class QUEST_API BranchTokensImpl : public torch::nn::Cloneable<BranchTokensImpl> {
 public:
  struct Size {
    std::int64_t tokens;
    std::int64_t dim;
  };

  using Sizes = std::array<Size, 2>;

  explicit BranchTokensImpl(const Sizes& sizes) : sizes_(sizes) { reset(); }

  void reset() override;

  BranchTensors values;

 private:
  Sizes sizes_;
};

TORCH_MODULE(BranchTokens);

class QUEST_API CrossViTStageImpl : public torch::nn::Cloneable<CrossViTStageImpl> {
 public:
  // `drop_path`: of each block of the deeper branch.
  CrossViTStageImpl(const CrossViTOptions& options, std::span<const double> drop_path);

  void reset() override;

  // [B, 1 + patches, dim] of each branch -> the same, or [B, 1, dim] where only the class tokens are asked for.
  // The layer values are those of the last block before, and become those of the last one here.
  BranchTensors forward(const BranchTensors& tokens, BranchTensors& layer_values, bool class_tokens_only);

  [[nodiscard]] double forward_flops() const;

  CrossViTOptions options;
  torch::nn::ModuleList blocks{nullptr};        // of each branch
  torch::nn::ModuleList projs{nullptr};         // its class token to the other's width
  torch::nn::ModuleList fusion{nullptr};        // in that width
  torch::nn::ModuleList revert_projs{nullptr};  // and back

 private:
  std::vector<double> drop_path_;
};

TORCH_MODULE(CrossViTStage);

class QUEST_API CrossViTImpl : public torch::nn::Cloneable<CrossViTImpl>, public AdaptsWeights {
 public:
  explicit CrossViTImpl(const CrossViTOptions& options = {});

  void reset() override;

  // [B, channels, fine.image_size, fine.image_size] -> [B, classes]: the mean of the two heads.
  at::Tensor forward(const at::Tensor& images);

  // Multiplications and additions of forward, per image.
  [[nodiscard]] double forward_flops() const;

  [[nodiscard]] at::Tensor adapt_weight(const std::string& name, const at::Tensor& given) const override;

  CrossViTOptions options;
  BranchTokens cls_token{nullptr};
  BranchTokens pos_embed{nullptr};
  torch::nn::ModuleList patch_embed{nullptr};
  torch::nn::Dropout pos_drop{nullptr};
  torch::nn::ModuleList blocks{nullptr};  // the stages
  torch::nn::ModuleList norm{nullptr};
  torch::nn::ModuleList head{nullptr};

 private:
  at::Tensor embed(std::size_t branch, const at::Tensor& images);
};

TORCH_MODULE(CrossViT);

}  // namespace quest::models
