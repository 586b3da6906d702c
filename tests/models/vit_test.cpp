// What a ViT promises besides its formula, which is compared with another implementation elsewhere.

#include "quest/models/vit.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using models::Pooling;
using models::ViT;
using models::ViTOptions;

ViTOptions tiny() { return ViTOptions().image_size(12).patch_size(4).channels(2).classes(5).dim(24).depth(3).heads(3); }

std::int64_t parameter_count(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& parameter : module.parameters()) {
    count += parameter.numel();
  }
  return count;
}

TEST(ViT, HasTheSizeOfPublishedModels) {
  EXPECT_EQ(parameter_count(*ViT()), 5717416);                              // DeiT-Ti
  EXPECT_EQ(parameter_count(*ViT(ViTOptions().distilled(true))), 5910800);  // DeiT-Ti, distilled
  EXPECT_EQ(parameter_count(*ViT(ViTOptions().layer_scale(1e-4))), 5717416 + 24 * 192);
}

// Every block has as many parameters as the next, so two depths tell those of any, without making the large models.
std::int64_t parameter_count_by_depth(const ViTOptions& options) {
  const auto count = [&](std::int64_t depth) { return parameter_count(*ViT(ViTOptions(options).depth(depth))); };
  return count(1) + (options.depth() - 1) * (count(2) - count(1));
}

TEST(ViT, EveryShapeHasTheSizeOfThePublishedModel) {
  const std::map<std::string_view, std::int64_t> expected = {{"Ti/16", 5717416},  {"S/16", 22050664},
                                                             {"B/16", 86567656},  {"L/16", 304326632},
                                                             {"H/14", 632045800}, {"2B/16", 2421230568}};
  ASSERT_EQ(models::vit_shapes().size(), expected.size());
  for (const models::ViTShape& shape : models::vit_shapes()) {
    EXPECT_EQ(parameter_count_by_depth(models::vit_options(shape.name)), expected.at(shape.name)) << shape.name;
  }
  EXPECT_EQ(parameter_count_by_depth(ViTOptions()), parameter_count(*ViT()));
}

TEST(ViT, AnUnknownShapeIsAnsweredWithTheKnownOnes) {
  try {
    (void)models::vit_options("M/16");
    FAIL() << "expected an error";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("no shape of a ViT 'M/16'; there are Ti/16, S/16, B/16"),
              std::string::npos)
        << error.what();
  }
}

TEST(ViT, PixelsThatFillNoPatchAreNotRead) {
  torch::manual_seed(1);
  ViT vit(tiny().image_size(14));
  EXPECT_EQ(vit->pos_embed.size(1), 1 + 9);
  at::Tensor images = at::randn({2, 2, 14, 14});
  const at::Tensor before = vit->forward(images);
  images.slice(2, 12).zero_();
  images.slice(3, 12).zero_();
  EXPECT_TRUE(identical(vit->forward(images), before));
}

TEST(ViT, HasTimmsNames) {
  const ViT vit(tiny().depth(1).distilled(true));
  std::vector<std::string> names;
  for (const auto& item : vit->named_parameters()) {
    names.push_back(item.key());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cls_token",
                                             "dist_token",
                                             "pos_embed",
                                             "patch_embed.proj.weight",
                                             "patch_embed.proj.bias",
                                             "blocks.0.norm1.weight",
                                             "blocks.0.norm1.bias",
                                             "blocks.0.attn.qkv.weight",
                                             "blocks.0.attn.qkv.bias",
                                             "blocks.0.attn.proj.weight",
                                             "blocks.0.attn.proj.bias",
                                             "blocks.0.norm2.weight",
                                             "blocks.0.norm2.bias",
                                             "blocks.0.mlp.fc1.weight",
                                             "blocks.0.mlp.fc1.bias",
                                             "blocks.0.mlp.fc2.weight",
                                             "blocks.0.mlp.fc2.bias",
                                             "norm.weight",
                                             "norm.bias",
                                             "head.weight",
                                             "head.bias",
                                             "head_dist.weight",
                                             "head_dist.bias"}));
}

// forward computes only the tokens that the heads read.
TEST(ViT, HeadsReadTheFeatures) {
  torch::manual_seed(1);
  for (const Formulation& formulation : all_formulations()) {
    for (const bool distilled : {false, true}) {
      ViT vit(tiny().formulation(formulation).distilled(distilled));
      const at::Tensor images = at::randn({4, 2, 12, 12});
      const at::Tensor features = vit->forward_features(images);
      EXPECT_EQ(features.sizes(), (at::IntArrayRef{4, distilled ? 11 : 10, 24}));
      at::Tensor expected = vit->head->forward(features.select(1, 0));
      expected = distilled ? (expected + vit->head_dist->forward(features.select(1, 1))) / 2 : expected;
      EXPECT_TRUE(close(vit->forward(images), expected, {.of_largest = 1e-5})) << formulation.name;
    }
  }
}

TEST(ViT, PoolsTheMeanOfThePatches) {
  ViT vit(tiny().pooling(Pooling::mean));
  const at::Tensor images = at::randn({4, 2, 12, 12});
  const at::Tensor expected = vit->head->forward(vit->forward_features(images).slice(1, 1).mean(1));
  EXPECT_TRUE(close(vit->forward(images), expected, {.of_largest = 1e-6}));
}

TEST(ViT, EveryParameterGetsAGradient) {
  for (const Formulation& formulation : all_formulations()) {
    ViT vit(tiny().formulation(formulation).layer_scale(0.1).drop_path(0.1).dropout(0.1).attention_dropout(0.1));
    vit->forward(at::randn({4, 2, 12, 12})).square().sum().backward();
    for (const auto& item : vit->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << formulation.name << " " << item.key();
      EXPECT_TRUE(all_finite(item.value().grad())) << formulation.name << " " << item.key();
    }
  }
}

TEST(ViT, TheClassTokenMayHaveNoPosition) {
  torch::manual_seed(2);
  ViT vit(tiny().class_token_position(false));
  EXPECT_EQ(vit->pos_embed.sizes(), (at::IntArrayRef{1, 9, 24}));
  ViT other(tiny());
  const at::NoGradGuard no_gradients;
  const auto weights = vit->named_parameters();
  for (const auto& item : other->named_parameters()) {
    if (item.key() != "pos_embed") {
      item.value().copy_(weights[item.key()]);
    }
  }
  other->pos_embed.copy_(at::cat({at::zeros({1, 1, 24}), vit->pos_embed}, 1));
  const at::Tensor images = at::randn({4, 2, 12, 12});
  EXPECT_TRUE(identical(vit->forward_features(images), other->forward_features(images)));
  EXPECT_EQ(vit->forward_flops(), other->forward_flops());
}

TEST(ViT, DropPathIsTheSameInAllBlocksOnRequest) {
  const ViT vit(tiny().drop_path(0.2).uniform_drop_path(true));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(vit->blocks->at<nn::BlockImpl>(i).drop_path->p, 0.2);
  }
}

// Linear layers, tokens and positions are normal with deviation 0.02, the patches' convolution is LibTorch's.
TEST(ViT, StartsAsDeiTDoes) {
  torch::manual_seed(3);
  const ViT vit(ViTOptions().image_size(112).depth(1).dim(256).heads(4).layer_scale(1e-4));
  const auto deviation = [](const at::Tensor& x) { return x.std().item<double>(); };
  for (const auto& item : vit->named_parameters()) {
    const std::string& name = item.key();
    const at::Tensor& value = item.value();
    if (name.ends_with("gamma")) {
      EXPECT_TRUE(at::all(value == static_cast<float>(1e-4)).item<bool>()) << name;
    } else if (name.starts_with("patch_embed")) {
      const double most = 1 / std::sqrt(3.0 * 16 * 16);
      EXPECT_LE(value.abs().max().item<double>(), most) << name;
      EXPECT_NEAR(deviation(value), most / std::sqrt(3.0), 0.15 * most) << name;
    } else if (name.find("norm") != std::string::npos && name.ends_with("weight")) {
      EXPECT_TRUE(at::all(value == 1).item<bool>()) << name;
    } else if (name.ends_with("bias")) {
      EXPECT_TRUE(all_zero(value)) << name;
    } else {
      const double error = 4 / std::sqrt(2.0 * static_cast<double>(value.numel()));
      EXPECT_NEAR(deviation(value), 0.02, 0.02 * error) << name;
    }
  }
}

TEST(ViT, DropPathGrowsWithDepth) {
  const ViT vit(tiny().drop_path(0.2));
  EXPECT_EQ(vit->blocks->at<nn::BlockImpl>(0).drop_path->p, 0.0);
  EXPECT_DOUBLE_EQ(vit->blocks->at<nn::BlockImpl>(1).drop_path->p, 0.1);
  EXPECT_DOUBLE_EQ(vit->blocks->at<nn::BlockImpl>(2).drop_path->p, 0.2);
}

// 2 · 1.258e9 multiply-adds are what DeiT-Ti is quoted with; reading only the class token saves most of the last block.
TEST(ViT, CountsItsArithmetic) {
  EXPECT_NEAR(ViT(ViTOptions().pooling(Pooling::mean))->forward_flops(), 2 * 1.254e9, 1e7);
  const double saved = ViT(ViTOptions().pooling(Pooling::mean))->forward_flops() - ViT()->forward_flops();
  EXPECT_DOUBLE_EQ(saved, 2.0 * 196 * (10 * 192 * 192 + 2 * 197 * 192));
}

TEST(ViT, ACloneComputesTheSame) {
  ViT vit(tiny());
  const auto copy = std::dynamic_pointer_cast<models::ViTImpl>(vit->clone());
  const at::Tensor images = at::randn({4, 2, 12, 12});
  EXPECT_TRUE(identical(copy->forward(images), vit->forward(images)));
}

TEST(ViT, SaysWhatItTakes) {
  EXPECT_THROW(ViT(tiny().image_size(3)), c10::Error);
  EXPECT_THROW(ViT(tiny().layer_scale(-1)), c10::Error);
  try {
    ViT(tiny())->forward(at::randn({1, 2, 8, 8}));
    FAIL() << "expected an error";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("[batch, 2, 12, 12], got [1, 2, 8, 8]"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace quest::testing
