// What a CrossViT promises besides its formula, which is compared with another implementation elsewhere.

#include "quest/models/cross_vit.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quest/nn/position_embedding.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using models::CrossViT;
using models::CrossViTOptions;

CrossViTOptions tiny() {
  return CrossViTOptions()
      .fine({.image_size = 36, .patch_size = 12, .dim = 16, .depth = 1, .heads = 2})
      .coarse({.image_size = 32, .patch_size = 16, .dim = 24, .depth = 2, .heads = 3})
      .stages(2)
      .classes(5);
}

std::int64_t parameter_count(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& parameter : module.parameters()) {
    count += parameter.numel();
  }
  return count;
}

struct Published {
  const char* name;
  std::int64_t parameters;
  double millions;
  double giga_multiply_adds;
};

class PublishedCrossViT : public ::testing::TestWithParam<Published> {};

INSTANTIATE_TEST_SUITE_P(Models, PublishedCrossViT,
                         ::testing::Values(Published{"9-dagger", 8776592, 8.77, 1.99},
                                           Published{"small", 26856272, 26.86, 5.63},
                                           Published{"18-dagger", 44266976, 44.27, 9.50}),
                         [](const auto& model) {
                           std::string name = model.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(PublishedCrossViT, HasItsSizeAndItsArithmetic) {
  const CrossViT model(models::cross_vit_options(GetParam().name));
  EXPECT_EQ(parameter_count(*model), GetParam().parameters);
  EXPECT_NEAR(static_cast<double>(GetParam().parameters) / 1e6, GetParam().millions, 0.01);
  EXPECT_NEAR(model->forward_flops() / 2e9, GetParam().giga_multiply_adds, 0.03 * GetParam().giga_multiply_adds);
}

TEST(CrossViT, HasThePublishedNames) {
  const CrossViT model(
      tiny().stages(1).coarse({.image_size = 32, .patch_size = 16, .dim = 24, .depth = 1, .heads = 3}));
  std::vector<std::string> names;
  for (const auto& item : model->named_parameters()) {
    if (item.key().find(".1") == std::string::npos && item.key().ends_with("bias")) names.push_back(item.key());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"patch_embed.0.proj.0.bias",
                                             "patch_embed.0.proj.2.bias",
                                             "patch_embed.0.proj.4.bias",
                                             "blocks.0.blocks.0.0.norm1.bias",
                                             "blocks.0.blocks.0.0.attn.qkv.bias",
                                             "blocks.0.blocks.0.0.attn.proj.bias",
                                             "blocks.0.blocks.0.0.norm2.bias",
                                             "blocks.0.blocks.0.0.mlp.fc1.bias",
                                             "blocks.0.blocks.0.0.mlp.fc2.bias",
                                             "blocks.0.projs.0.0.bias",
                                             "blocks.0.projs.0.2.bias",
                                             "blocks.0.fusion.0.norm1.bias",
                                             "blocks.0.fusion.0.attn.wq.bias",
                                             "blocks.0.fusion.0.attn.wk.bias",
                                             "blocks.0.fusion.0.attn.wv.bias",
                                             "blocks.0.fusion.0.attn.proj.bias",
                                             "blocks.0.revert_projs.0.0.bias",
                                             "blocks.0.revert_projs.0.2.bias",
                                             "norm.0.bias",
                                             "head.0.bias"}));
  EXPECT_TRUE(model->named_parameters().contains("cls_token.0"));
  EXPECT_TRUE(model->named_parameters().contains("pos_embed.1"));
}

TEST(CrossViT, EveryParameterGetsAGradient) {
  for (const Formulation& formulation : all_formulations()) {
    CrossViT model(tiny().formulation(formulation).drop_path(0.1).dropout(0.1).attention_dropout(0.1));
    model->forward(at::randn({4, 3, 36, 36})).square().sum().backward();
    for (const auto& item : model->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << formulation.name << " " << item.key();
      EXPECT_TRUE(all_finite(item.value().grad())) << formulation.name << " " << item.key();
    }
  }
}

// Linear over the blocks of the deeper branch; the shallow one has the first value of its stage, the fusion the last.
TEST(CrossViT, DropPathGrowsOverTheStages) {
  const CrossViT model(tiny().drop_path(0.3));
  const auto stage = [&](std::size_t i) { return model->blocks->ptr<models::CrossViTStageImpl>(i); };
  const auto rate = [&](std::size_t i, std::size_t branch, std::size_t block) {
    return stage(i)->blocks->at<torch::nn::ModuleListImpl>(branch).at<nn::BlockImpl>(block).drop_path->p;
  };
  EXPECT_DOUBLE_EQ(rate(0, 0, 0), 0.0);
  EXPECT_DOUBLE_EQ(rate(0, 1, 0), 0.0);
  EXPECT_DOUBLE_EQ(rate(0, 1, 1), 0.1);
  EXPECT_DOUBLE_EQ(rate(1, 0, 0), 0.2);
  EXPECT_DOUBLE_EQ(rate(1, 1, 1), 0.3);
  for (const std::size_t branch : {0, 1}) {
    EXPECT_DOUBLE_EQ(stage(0)->fusion->at<models::CrossViTFusionImpl>(branch).drop_path->p, 0.1);
    EXPECT_DOUBLE_EQ(stage(1)->fusion->at<models::CrossViTFusionImpl>(branch).drop_path->p, 0.3);
  }
}

TEST(CrossViT, LoadsTimmsNamesAndResizesPositions) {
  torch::manual_seed(4);
  CrossViT model(tiny());
  models::NamedTensors weights;
  for (const auto& item : model->named_parameters()) {
    std::string name = item.key();
    if (name.starts_with("cls_token") || name.starts_with("pos_embed")) name[name.size() - 2] = '_';
    weights.emplace_back(name, name == "pos_embed_0" ? at::randn({1, 1 + 25, 16}) : at::randn_like(item.value()));
  }
  models::load_weights_into(*model, weights);
  for (const auto& [name, value] : weights) {
    if (name == "pos_embed_0") {
      EXPECT_TRUE(identical(model->pos_embed->values[0], nn::resize_position_embedding(value, 1, {3, 3})));
    } else if (name == "cls_token_1") {
      EXPECT_TRUE(identical(model->cls_token->values[1], value));
    }
  }
}

TEST(CrossViT, ACloneComputesTheSame) {
  CrossViT model(tiny());
  const auto copy = std::dynamic_pointer_cast<models::CrossViTImpl>(model->clone());
  const at::Tensor images = at::randn({2, 3, 36, 36});
  EXPECT_TRUE(identical(copy->forward(images), model->forward(images)));
}

TEST(CrossViT, SaysWhatItTakes) {
  const auto error_of = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const c10::Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_NE(error_of([] { CrossViT(tiny())->forward(at::randn({1, 3, 32, 32})); }).find("[batch, 3, 36, 36], got"),
            std::string::npos);
  EXPECT_NE(error_of([] { (void)models::cross_vit_options("15"); }).find("9-dagger, small and 18-dagger"),
            std::string::npos);
  auto options = tiny();
  options.fine().patch_size = 9;
  EXPECT_NE(error_of([&] { CrossViT model(options); }).find("12 or 16 pixels a side, got 9"), std::string::npos);
  EXPECT_NE(error_of([&] { CrossViT model(options.stages(0)); }).find("at least one stage"), std::string::npos);
}

}  // namespace
}  // namespace quest::testing
