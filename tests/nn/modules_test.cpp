// The parts of a Transformer besides attention.

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "quest/nn/block.h"
#include "quest/nn/initialization.h"
#include "quest/nn/patch_embedding.h"
#include "quest/nn/position_embedding.h"
#include "tests/nn/plain_attention.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr Bound kBound{.of_largest = 2e-5};

at::Tensor plain_norm(const at::Tensor& x, const Weights& weights, const std::string& name, double eps) {
  const at::Tensor centred = x - x.mean(-1, true);
  return centred / (centred.square().mean(-1, true) + eps).sqrt() * weights.at(name + ".weight") +
         weights.at(name + ".bias");
}

at::Tensor plain_mlp(const at::Tensor& x, const Weights& weights) {
  const at::Tensor hidden = at::linear(x, weights.at("mlp.fc1.weight"), weights.at("mlp.fc1.bias"));
  const at::Tensor active = hidden * 0.5 * (1.0 + (hidden * M_SQRT1_2).erf());
  return at::linear(active, weights.at("mlp.fc2.weight"), weights.at("mlp.fc2.bias"));
}

at::Tensor plain_block(const nn::BlockOptions& options, const Weights& weights, const at::Tensor& x) {
  const auto norm = [&](const at::Tensor& y, const std::string& name) {
    return plain_norm(y, weights, name, options.norm_eps());
  };
  const auto attend = [&](const at::Tensor& y) {
    return plain_self_attention(options.formulation(), options.heads(), weights, "attn.", y);
  };
  const auto scaled = [&](const at::Tensor& y, const std::string& name) {
    return weights.contains(name) ? y * weights.at(name) : y;
  };
  if (options.norm_place() == nn::NormPlace::post) {
    const at::Tensor middle = norm(x + scaled(attend(x), "ls1.gamma"), "norm1");
    return norm(middle + scaled(plain_mlp(middle, weights), "ls2.gamma"), "norm2");
  }
  const at::Tensor middle = x + scaled(attend(norm(x, "norm1")), "ls1.gamma");
  return middle + scaled(plain_mlp(norm(middle, "norm2"), weights), "ls2.gamma");
}

TEST(Block, IsTheFormulaWithTheNormBeforeOrAfter) {
  torch::manual_seed(11);
  for (const auto place : {nn::NormPlace::pre, nn::NormPlace::post}) {
    for (const auto& layer_scale : {std::optional<double>(), std::optional<double>(0.3)}) {
      const auto options =
          nn::BlockOptions(24, 3).mlp_hidden(40).norm_place(place).norm_eps(1e-5).layer_scale(layer_scale);
      nn::Block block(options);
      const Weights weights = wide_weights(*block);
      const at::Tensor x = at::randn({2, 9, 24});
      const at::Tensor out = block->forward(x);
      const at::Tensor exact = plain_block(options, weights, x.to(at::kDouble));
      EXPECT_TRUE(close(out, exact, kBound));
      EXPECT_TRUE(close(block->forward_first(x, 2), exact.narrow(1, 0, 2), kBound));
      out.sin().sum().backward();
      exact.sin().sum().backward();
      for (const auto& item : block->named_parameters()) {
        EXPECT_TRUE(close(item.value().grad(), weights.at(item.key()).grad(), {.of_largest = 5e-5})) << item.key();
      }
    }
  }
}

TEST(Block, HasTimmsNames) {
  const nn::Block block(nn::BlockOptions(8, 2).layer_scale(1e-5));
  std::vector<std::string> names;
  for (const auto& item : block->named_parameters()) {
    names.push_back(item.key());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names,
            (std::vector<std::string>{"attn.proj.bias", "attn.proj.weight", "attn.qkv.bias", "attn.qkv.weight",
                                      "ls1.gamma", "ls2.gamma", "mlp.fc1.bias", "mlp.fc1.weight", "mlp.fc2.bias",
                                      "mlp.fc2.weight", "norm1.bias", "norm1.weight", "norm2.bias", "norm2.weight"}));
}

TEST(Block, KeepsTheResidualStreamWideUnderAutocast) {
  nn::Block block(8, 2);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor out = block->forward(at::randn({2, 5, 8}));
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(out.scalar_type(), at::kFloat);
}

TEST(DropPath, DropsWholeSamplesAndKeepsTheMean) {
  torch::manual_seed(5);
  nn::DropPath drop_path(0.25);
  const at::Tensor out = drop_path->forward(at::ones({4000, 2, 3}));
  const at::Tensor per_sample = out.flatten(1);
  EXPECT_TRUE(at::equal(per_sample.amax(1), per_sample.amin(1)));
  EXPECT_TRUE(((out == 0).logical_or(out == static_cast<float>(1.0 / 0.75))).all().item<bool>());
  EXPECT_NEAR(out.mean().item<double>(), 1.0, 0.04);
  drop_path->eval();
  EXPECT_TRUE(at::equal(drop_path->forward(out), out));
  EXPECT_THROW(nn::DropPath(1.0), c10::Error);
}

TEST(PatchEmbedding, IsTheConvolution) {
  torch::manual_seed(6);
  nn::PatchEmbedding embedding(3, 4, 10);
  const at::Tensor images = at::randn({2, 3, 8, 12});
  const at::Tensor expected = at::conv2d(images.to(at::kDouble), embedding->proj->weight.to(at::kDouble),
                                         embedding->proj->bias.to(at::kDouble), 4)
                                  .flatten(2)
                                  .transpose(1, 2);
  EXPECT_TRUE(close(embedding->forward(images), expected, {.of_largest = 1e-6}));
  EXPECT_TRUE(close(embedding->forward(images.to(at::MemoryFormat::ChannelsLast)), expected, {.of_largest = 1e-6}));
  EXPECT_THROW(embedding->forward(at::randn({2, 3, 8, 3})), c10::Error);
}

TEST(PatchEmbedding, LeavesOutPixelsThatFillNoPatch) {
  torch::manual_seed(7);
  nn::PatchEmbedding embedding(3, 4, 10);
  const at::Tensor images = at::randn({2, 3, 11, 14});
  EXPECT_TRUE(identical(embedding->forward(images), embedding->forward(images.slice(2, 0, 8).slice(3, 0, 12))));
}

TEST(PositionEmbedding, ResizesTheGridAndKeepsThePrefix) {
  torch::manual_seed(8);
  const at::Tensor embedding = at::randn({1, 2 + 49, 5});
  EXPECT_TRUE(identical(nn::resize_position_embedding(embedding, 2, {7, 7}), embedding));
  const at::Tensor resized = nn::resize_position_embedding(embedding, 2, {3, 4});
  namespace F = torch::nn::functional;
  const at::Tensor image = embedding.slice(1, 2).transpose(1, 2).reshape({1, 5, 7, 7});
  const at::Tensor expected = F::interpolate(
      image,
      F::InterpolateFuncOptions().size(std::vector<std::int64_t>{3, 4}).mode(torch::kBicubic).align_corners(false));
  EXPECT_TRUE(identical(resized.slice(1, 0, 2), embedding.slice(1, 0, 2)));
  EXPECT_TRUE(identical(resized.slice(1, 2), expected.flatten(2).transpose(1, 2)));
  EXPECT_THROW(nn::resize_position_embedding(embedding, 1, {3, 4}), c10::Error);
}

TEST(TruncNormal, StaysInsideAndHasItsDeviation) {
  torch::manual_seed(9);
  at::Tensor values = at::empty({20000});
  nn::trunc_normal(values, 0.02);
  EXPECT_NEAR(values.std().item<double>(), 0.02, 5e-4);
  EXPECT_NEAR(values.mean().item<double>(), 0.0, 5e-4);
  nn::trunc_normal(values, 1.0, -0.5, 1.0);
  EXPECT_GE(values.min().item<double>(), -0.5);
  EXPECT_LE(values.max().item<double>(), 1.0);
  // The mean of a standard normal limited to [-0.5, 1].
  EXPECT_NEAR(values.mean().item<double>(), 0.2066, 0.01);
}

}  // namespace
}  // namespace quest::testing
