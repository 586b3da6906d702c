#include "quest/models/cross_vit.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "quest/nn/initialization.h"
#include "quest/nn/patch_embedding.h"
#include "quest/nn/position_embedding.h"

namespace quest::models {
namespace {

constexpr double kTokenDeviation = 0.02;
constexpr double kNormEps = 1e-6;
constexpr std::array<std::string_view, 3> kNames = {"9-dagger", "small", "18-dagger"};
constexpr std::array<std::size_t, 2> kBranches = {0, 1};

const CrossViTBranch& branch_of(const CrossViTOptions& options, std::size_t branch) {
  return branch == 0 ? options.fine() : options.coarse();
}

std::int64_t grid_side(const CrossViTBranch& branch) { return branch.image_size / branch.patch_size; }
std::int64_t tokens_of(const CrossViTBranch& branch) { return 1 + grid_side(branch) * grid_side(branch); }
std::int64_t deepest(const CrossViTOptions& options) { return std::max(options.fine().depth, options.coarse().depth); }

torch::nn::LayerNorm layer_norm(std::int64_t dim) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}).eps(kNormEps));
}

// From one width to another, as class tokens go.
torch::nn::Sequential projection(std::int64_t from, std::int64_t to) {
  return torch::nn::Sequential(layer_norm(from), torch::nn::GELU(), torch::nn::Linear(from, to));
}

void check(const CrossViTOptions& options) {
  TORCH_CHECK(options.stages() > 0 && options.classes() > 0 && options.channels() > 0,
              "quest::models: a CrossViT needs at least one stage, class and channel, got ", options.stages(), ", ",
              options.classes(), " and ", options.channels());
  for (const std::size_t b : kBranches) {
    const CrossViTBranch& branch = branch_of(options, b);
    TORCH_CHECK(
        branch.depth > 0 && branch.patch_size > 0 && branch.image_size > 0 &&
            branch.image_size % branch.patch_size == 0,
        "quest::models: a branch of a CrossViT needs at least one block and images of whole patches, got depth ",
        branch.depth, ", images of ", branch.image_size, " and patches of ", branch.patch_size);
  }
}

}  // namespace

std::span<const std::string_view> cross_vit_names() { return kNames; }

CrossViTOptions cross_vit_options(std::string_view name) {
  const auto widths = [](std::int64_t fine, std::int64_t coarse, std::int64_t depth, std::int64_t heads) {
    CrossViTOptions options;
    options.fine().dim = fine;
    options.coarse().dim = coarse;
    options.coarse().depth = depth;
    options.fine().heads = options.coarse().heads = heads;
    return options;
  };
  if (name == "9-dagger") {
    return widths(128, 256, 3, 4);
  }
  if (name == "small") {
    return widths(192, 384, 4, 6).mlp_ratio(4.0).three_convolutions(false);
  }
  TORCH_CHECK(name == "18-dagger", "quest::models: there is no CrossViT '", name,
              "'; there are 9-dagger, small and 18-dagger");
  return widths(224, 448, 6, 7);
}

CrossViTFusionImpl::CrossViTFusionImpl(const nn::ClassAttentionOptions& attention, double rate)
    : options(attention), drop_path_rate(rate) {
  reset();
}

void CrossViTFusionImpl::reset() {
  norm1 = register_module("norm1", layer_norm(options.dim()));
  attn = register_module("attn", nn::ClassAttention(options));
  drop_path = register_module("drop_path", nn::DropPath(drop_path_rate));
}

at::Tensor CrossViTFusionImpl::forward(const at::Tensor& tokens, const nn::AttentionInputs& inputs) {
  return tokens.narrow(1, 0, 1) + drop_path->forward(attn->forward(norm1->forward(tokens), inputs));
}

// Normal with deviation 0.02, as all tokens and positions of vision transformers start.
void BranchTokensImpl::reset() {
  for (const std::size_t b : kBranches) {
    values[b] = register_parameter(std::to_string(b), at::zeros({1, sizes_[b].tokens, sizes_[b].dim}));
    nn::trunc_normal(values[b], kTokenDeviation);
  }
}

CrossViTStageImpl::CrossViTStageImpl(const CrossViTOptions& given, std::span<const double> drop_path)
    : options(given), drop_path_(drop_path.begin(), drop_path.end()) {
  reset();
}

void CrossViTStageImpl::reset() {
  blocks = register_module("blocks", torch::nn::ModuleList());
  projs = register_module("projs", torch::nn::ModuleList());
  fusion = register_module("fusion", torch::nn::ModuleList());
  revert_projs = register_module("revert_projs", torch::nn::ModuleList());
  for (const std::size_t b : kBranches) {
    const CrossViTBranch& own = branch_of(options, b);
    const CrossViTBranch& other = branch_of(options, 1 - b);
    torch::nn::ModuleList layers;
    for (std::int64_t i = 0; i < own.depth; ++i) {
      layers->push_back(nn::Block(nn::BlockOptions(own.dim, own.heads)
                                      .mlp_hidden(std::llround(options.mlp_ratio() * static_cast<double>(own.dim)))
                                      .formulation(options.formulation())
                                      .norm_eps(kNormEps)
                                      .dropout(options.dropout())
                                      .attention_dropout(options.attention_dropout())
                                      .drop_path(drop_path_[static_cast<std::size_t>(i)])));
    }
    blocks->push_back(layers);
    projs->push_back(projection(own.dim, other.dim));
    fusion->push_back(CrossViTFusion(nn::ClassAttentionOptions(other.dim, other.heads)
                                         .formulation(options.formulation())
                                         .attention_dropout(options.attention_dropout())
                                         .dropout(options.dropout()),
                                     drop_path_.back()));
    revert_projs->push_back(projection(other.dim, own.dim));
  }
}

BranchTensors CrossViTStageImpl::forward(const BranchTensors& tokens, BranchTensors& layer_values,
                                         bool class_tokens_only) {
  BranchTensors x;
  for (const std::size_t b : kBranches) {
    torch::nn::ModuleList layers(blocks->ptr<torch::nn::ModuleListImpl>(b));
    x[b] = nn::run_blocks(layers, tokens[b], tokens[b].size(1), {.layer_values = &layer_values[b]});
  }
  const auto patches = [&](std::size_t b) { return x[b].narrow(1, 1, x[b].size(1) - 1); };
  BranchTensors result;
  for (const std::size_t b : kBranches) {
    const std::size_t other = 1 - b;
    const at::Tensor visitor = projs->at<torch::nn::SequentialImpl>(b).forward(x[b].narrow(1, 0, 1));
    // The layer before, of the same width and over the same patches, is the other branch's last block.
    at::Tensor values = layer_values[other];
    const at::Tensor fused =
        fusion->at<CrossViTFusionImpl>(b).forward(at::cat({visitor, patches(other)}, 1), {.layer_values = &values});
    const at::Tensor class_token = revert_projs->at<torch::nn::SequentialImpl>(b).forward(fused);
    result[b] = class_tokens_only ? class_token : at::cat({class_token, patches(b)}, 1);
  }
  return result;
}

double CrossViTStageImpl::forward_flops() const {
  double flops = 0.0;
  for (const std::size_t b : kBranches) {
    const CrossViTBranch& branch = branch_of(options, b);
    const auto dim = static_cast<double>(branch.dim);
    const auto other = static_cast<double>(branch_of(options, 1 - b).dim);
    const auto tokens = static_cast<double>(tokens_of(branch));
    const torch::nn::ModuleList layers(blocks->ptr<torch::nn::ModuleListImpl>(b));
    flops += nn::blocks_flops(layers, tokens_of(branch), tokens_of(branch));
    // The class token goes to the other width and back; this branch's patches are read by the other's class token.
    flops += 2 * (2 * dim * other + 2 * tokens * dim * dim + 2 * dim * dim + 2 * tokens * dim);
  }
  return flops;
}

CrossViTImpl::CrossViTImpl(const CrossViTOptions& given) : options(given) { reset(); }

void CrossViTImpl::reset() {
  check(options);
  const CrossViTBranch& fine = options.fine();
  const CrossViTBranch& coarse = options.coarse();
  cls_token = register_module("cls_token", BranchTokens(BranchTokensImpl::Sizes{{{1, fine.dim}, {1, coarse.dim}}}));
  pos_embed = register_module(
      "pos_embed",
      BranchTokens(BranchTokensImpl::Sizes{{{tokens_of(fine), fine.dim}, {tokens_of(coarse), coarse.dim}}}));
  patch_embed = register_module("patch_embed", torch::nn::ModuleList());
  pos_drop = register_module("pos_drop", torch::nn::Dropout(options.dropout()));
  blocks = register_module("blocks", torch::nn::ModuleList());
  norm = register_module("norm", torch::nn::ModuleList());
  head = register_module("head", torch::nn::ModuleList());
  for (const std::size_t b : kBranches) {
    const CrossViTBranch& branch = branch_of(options, b);
    const nn::PatchEmbeddingOptions patches(options.channels(), branch.patch_size, branch.dim);
    if (options.three_convolutions()) {
      patch_embed->push_back(nn::ConvolutionalPatchEmbedding(patches));
    } else {
      patch_embed->push_back(nn::PatchEmbedding(patches));
    }
    norm->push_back(layer_norm(branch.dim));
    head->push_back(torch::nn::Linear(branch.dim, options.classes()));
  }
  const std::int64_t depth = deepest(options);
  std::vector<double> drop_path(static_cast<std::size_t>(options.stages() * depth), 0.0);
  for (std::size_t i = 1; i < drop_path.size(); ++i) {
    drop_path[i] = options.drop_path() * static_cast<double>(i) / static_cast<double>(drop_path.size() - 1);
  }
  for (std::int64_t stage = 0; stage < options.stages(); ++stage) {
    const auto first = static_cast<std::size_t>(stage * depth);
    blocks->push_back(CrossViTStage(options, std::span(drop_path).subspan(first, static_cast<std::size_t>(depth))));
  }
  nn::init_vit_weights(*this);
}

at::Tensor CrossViTImpl::embed(std::size_t branch, const at::Tensor& images) {
  const std::int64_t side = branch_of(options, branch).image_size;
  const at::Tensor seen = images.size(2) == side
                              ? images
                              : at::upsample_bicubic2d(images.to(at::kFloat), {side, side}, /*align_corners=*/false);
  const at::Tensor patches = options.three_convolutions()
                                 ? patch_embed->at<nn::ConvolutionalPatchEmbeddingImpl>(branch).forward(seen)
                                 : patch_embed->at<nn::PatchEmbeddingImpl>(branch).forward(seen);
  const at::Tensor tokens = at::cat({cls_token->values[branch].expand({images.size(0), -1, -1}), patches}, 1);
  return pos_drop->forward(tokens.add_(pos_embed->values[branch]));
}

at::Tensor CrossViTImpl::forward(const at::Tensor& images) {
  const std::int64_t side = options.fine().image_size;
  TORCH_CHECK(images.dim() == 4 && images.size(2) == side && images.size(3) == side,
              "quest::models: this CrossViT takes images of shape [batch, ", options.channels(), ", ", side, ", ", side,
              "], got ", images.sizes());
  BranchTensors tokens = {embed(0, images), embed(1, images)};
  BranchTensors layer_values;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    tokens = blocks->at<CrossViTStageImpl>(i).forward(tokens, layer_values, i + 1 == blocks->size());
  }
  const auto logits = [&](std::size_t b) {
    return head->at<torch::nn::LinearImpl>(b).forward(
        norm->at<torch::nn::LayerNormImpl>(b).forward(tokens[b].select(1, 0)));
  };
  return (logits(0) + logits(1)) / 2;
}

double CrossViTImpl::forward_flops() const {
  double flops = 0.0;
  for (const auto& stage : *blocks) {
    flops += stage->as<CrossViTStageImpl>()->forward_flops();
  }
  for (const std::size_t b : kBranches) {
    const CrossViTBranch& branch = branch_of(options, b);
    const auto pixels = options.channels() * branch.patch_size * branch.patch_size;
    flops += 2 * static_cast<double>(branch.dim * options.classes());
    flops += options.three_convolutions()
                 ? patch_embed->at<nn::ConvolutionalPatchEmbeddingImpl>(b).forward_flops(branch.image_size)
                 : 2 * static_cast<double>((tokens_of(branch) - 1) * pixels * branch.dim);
  }
  return flops;
}

at::Tensor CrossViTImpl::adapt_weight(const std::string& name, const at::Tensor& given) const {
  for (const std::size_t b : kBranches) {
    if (name == "pos_embed." + std::to_string(b) && given.dim() == 3 && given.size(1) != pos_embed->values[b].size(1)) {
      const std::int64_t side = grid_side(branch_of(options, b));
      return nn::resize_position_embedding(given, /*prefix=*/1, {side, side});
    }
  }
  return given;
}

}  // namespace quest::models
