#include "quest/models/vit.h"

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "quest/nn/initialization.h"
#include "quest/nn/position_embedding.h"

namespace quest::models {
namespace {

constexpr double kTokenDeviation = 0.02;
constexpr double kNormEps = 1e-6;

void check(const ViTOptions& options) {
  TORCH_CHECK(options.patch_size() > 0 && options.image_size() >= options.patch_size(),
              "quest::models: the images of a ViT must be at least as large as its patches, got ", options.image_size(),
              " and ", options.patch_size());
  TORCH_CHECK(options.depth() > 0 && options.classes() > 0 && options.channels() > 0,
              "quest::models: a ViT needs at least one block, class and channel, got depth ", options.depth(),
              ", classes ", options.classes(), ", channels ", options.channels());
  TORCH_CHECK(options.layer_scale() >= 0, "quest::models: layer_scale must be above 0, or 0 for none, got ",
              options.layer_scale());
  TORCH_CHECK(!options.distilled() || options.pooling() == Pooling::class_token,
              "quest::models: a distilled ViT reads its class and distillation tokens; use Pooling::class_token");
}

constexpr std::array<ViTShape, 6> kShapes = {{{"Ti/16", 16, 192, 12, 3},
                                              {"S/16", 16, 384, 12, 6},
                                              {"B/16", 16, 768, 12, 12},
                                              {"L/16", 16, 1024, 24, 16},
                                              {"H/14", 14, 1280, 32, 16},
                                              {"2B/16", 16, 2048, 48, 16}}};

}  // namespace

std::span<const ViTShape> vit_shapes() { return kShapes; }

ViTOptions vit_options(std::string_view shape) {
  const auto* found = std::ranges::find(kShapes, shape, &ViTShape::name);
  std::string known;
  for (const ViTShape& other : kShapes) {
    known += (known.empty() ? "" : ", ") + std::string(other.name);
  }
  TORCH_CHECK(found != kShapes.end(), "quest::models: there is no shape of a ViT '", shape, "'; there are ", known);
  return ViTOptions().patch_size(found->patch_size).dim(found->dim).depth(found->depth).heads(found->heads);
}

ViTImpl::ViTImpl(const ViTOptions& given) : options(given) { reset(); }

void ViTImpl::reset() {
  check(options);
  const std::int64_t dim = options.dim();
  const std::int64_t depth = options.depth();
  cls_token = register_parameter("cls_token", at::zeros({1, 1, dim}));
  if (options.distilled()) {
    dist_token = register_parameter("dist_token", at::zeros({1, 1, dim}));
  }
  pos_embed = register_parameter("pos_embed", at::zeros({1, prefix_positions() + grid_side() * grid_side(), dim}));
  patch_embed = register_module("patch_embed", nn::PatchEmbedding(options.channels(), options.patch_size(), dim));
  pos_drop = register_module("pos_drop", torch::nn::Dropout(options.dropout()));
  blocks = register_module("blocks", torch::nn::ModuleList());
  const auto layer_scale = options.layer_scale() > 0 ? std::optional(options.layer_scale()) : std::nullopt;
  for (std::int64_t i = 0; i < depth; ++i) {
    const double linear = depth > 1 ? static_cast<double>(i) / static_cast<double>(depth - 1) : 0.0;
    const double share = options.uniform_drop_path() ? 1.0 : linear;
    blocks->push_back(nn::Block(nn::BlockOptions(dim, options.heads())
                                    .mlp_hidden(std::llround(options.mlp_ratio() * static_cast<double>(dim)))
                                    .formulation(options.formulation())
                                    .norm_eps(kNormEps)
                                    .qkv_bias(options.qkv_bias())
                                    .dropout(options.dropout())
                                    .attention_dropout(options.attention_dropout())
                                    .drop_path(options.drop_path() * share)
                                    .layer_scale(layer_scale)));
  }
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}).eps(kNormEps)));
  head = register_module("head", torch::nn::Linear(dim, options.classes()));
  if (options.distilled()) {
    head_dist = register_module("head_dist", torch::nn::Linear(dim, options.classes()));
  }
  nn::init_vit_weights(*this);
  for (const at::Tensor& token : {cls_token, dist_token, pos_embed}) {
    if (token.defined()) {
      nn::trunc_normal(token, kTokenDeviation);
    }
  }
}

at::Tensor ViTImpl::embed(const at::Tensor& images) {
  TORCH_CHECK(images.dim() == 4 && images.size(2) == options.image_size() && images.size(3) == options.image_size(),
              "quest::models: this ViT takes images of shape [batch, ", options.channels(), ", ", options.image_size(),
              ", ", options.image_size(), "], got ", images.sizes());
  at::Tensor patches = patch_embed->forward(images);
  if (!options.class_token_position()) {
    patches = patches + pos_embed;
  }
  std::vector<at::Tensor> tokens = {cls_token.expand({images.size(0), -1, -1})};
  if (dist_token.defined()) {
    tokens.push_back(dist_token.expand({images.size(0), -1, -1}));
  }
  tokens.push_back(patches);
  const at::Tensor joined = at::cat(tokens, 1);
  return pos_drop->forward(options.class_token_position() ? joined.add_(pos_embed) : joined);
}

at::Tensor ViTImpl::encode(const at::Tensor& images, std::int64_t read) {
  return norm->forward(nn::run_blocks(blocks, embed(images), read));
}

std::int64_t ViTImpl::tokens_read_by_heads() const {
  return options.pooling() == Pooling::class_token ? prefix_tokens() : tokens();
}

at::Tensor ViTImpl::forward_features(const at::Tensor& images) { return encode(images, tokens()); }

at::Tensor ViTImpl::forward(const at::Tensor& images) {
  const at::Tensor x = encode(images, tokens_read_by_heads());
  if (options.pooling() == Pooling::mean) {
    return head->forward(x.narrow(1, prefix_tokens(), x.size(1) - prefix_tokens()).mean(1));
  }
  const at::Tensor logits = head->forward(x.select(1, 0));
  return head_dist ? (logits + head_dist->forward(x.select(1, 1))) / 2 : logits;
}

double ViTImpl::forward_flops() const {
  const std::int64_t pixels = options.channels() * options.patch_size() * options.patch_size();
  const std::int64_t heads = options.distilled() ? 2 : 1;
  const auto ends = (tokens() - prefix_tokens()) * pixels * options.dim() + heads * options.dim() * options.classes();
  return 2 * static_cast<double>(ends) + nn::blocks_flops(blocks, tokens(), tokens_read_by_heads());
}

at::Tensor ViTImpl::adapt_weight(const std::string& name, const at::Tensor& given) const {
  const bool other_grid = name == "pos_embed" && given.dim() == 3 && given.size(1) != pos_embed.size(1);
  return other_grid ? nn::resize_position_embedding(given, prefix_positions(), {grid_side(), grid_side()}) : given;
}

}  // namespace quest::models
