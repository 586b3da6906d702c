#pragma once

// Vision Transformer with timm's parameter names, so that public ViT and DeiT weights load.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "quest/models/load_weights.h"
#include "quest/nn/block.h"
#include "quest/nn/patch_embedding.h"

namespace quest::models {

enum class Pooling {
  class_token,
  mean,  // over the patches
};

// The defaults are DeiT-Ti/16.
struct ViTOptions {
  TORCH_ARG(std::int64_t, image_size) = 224;
  TORCH_ARG(std::int64_t, patch_size) = 16;
  TORCH_ARG(std::int64_t, channels) = 3;
  TORCH_ARG(std::int64_t, classes) = 1000;
  TORCH_ARG(std::int64_t, dim) = 192;
  TORCH_ARG(std::int64_t, depth) = 12;
  TORCH_ARG(std::int64_t, heads) = 3;
  TORCH_ARG(double, mlp_ratio) = 4.0;
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(Pooling, pooling) = Pooling::class_token;
  TORCH_ARG(bool, qkv_bias) = true;
  TORCH_ARG(bool, distilled) = false;  // adds dist_token and head_dist
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(double, attention_dropout) = 0.0;
  TORCH_ARG(double, drop_path) = 0.0;            // of the last block; it grows linearly from 0 in the first
  TORCH_ARG(bool, uniform_drop_path) = false;    // that of the last block in all of them, as DeiT-3
  TORCH_ARG(double, layer_scale) = 0.0;          // the start of ls1 and ls2; 0: there are none
  TORCH_ARG(bool, class_token_position) = true;  // false: positions are added to the patches alone, as DeiT-3
};

// What the published models differ in. The images may be of any size: those of ViT-H/14 were of 224, 154 and 126
// pixels.
struct ViTShape {
  std::string_view name;  // "B/16"
  std::int64_t patch_size;
  std::int64_t dim;
  std::int64_t depth;
  std::int64_t heads;
};

// Ti/16, S/16, B/16, L/16, H/14 and 2B/16. Of the last, whose shape was not published, width and depth are what its 2.4
// billion parameters leave, and the heads are 128 wide.
[[nodiscard]] QUEST_API std::span<const ViTShape> vit_shapes();
// Throws c10::Error that names the others.
[[nodiscard]] QUEST_API ViTOptions vit_options(std::string_view shape);

class QUEST_API ViTImpl : public torch::nn::Cloneable<ViTImpl>, public AdaptsWeights {
 public:
  explicit ViTImpl(const ViTOptions& options = {});

  void reset() override;

  // [B, channels, image_size, image_size] -> [B, classes]. Distilled: the mean of the two heads.
  at::Tensor forward(const at::Tensor& images);

  // All tokens after the last norm, [B, prefix + patches, dim].
  at::Tensor forward_features(const at::Tensor& images);

  // Multiplications and additions of forward, per image.
  [[nodiscard]] double forward_flops() const;

  [[nodiscard]] at::Tensor adapt_weight(const std::string& name, const at::Tensor& given) const override;

  ViTOptions options;
  at::Tensor cls_token;
  at::Tensor dist_token;
  at::Tensor pos_embed;
  nn::PatchEmbedding patch_embed{nullptr};
  torch::nn::Dropout pos_drop{nullptr};
  torch::nn::ModuleList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear head{nullptr};
  torch::nn::Linear head_dist{nullptr};

 private:
  [[nodiscard]] std::int64_t prefix_tokens() const { return options.distilled() ? 2 : 1; }
  [[nodiscard]] std::int64_t prefix_positions() const { return options.class_token_position() ? prefix_tokens() : 0; }
  // Pixels that fill no patch are not read.
  [[nodiscard]] std::int64_t grid_side() const { return options.image_size() / options.patch_size(); }
  [[nodiscard]] std::int64_t tokens() const { return prefix_tokens() + grid_side() * grid_side(); }
  [[nodiscard]] std::int64_t tokens_read_by_heads() const;
  at::Tensor embed(const at::Tensor& images);
  // The first `read` tokens after the last norm.
  at::Tensor encode(const at::Tensor& images, std::int64_t read);
};

TORCH_MODULE(ViT);

}  // namespace quest::models
