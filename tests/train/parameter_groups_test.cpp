#include "train/optim/parameter_groups.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>

namespace quest::testing {
namespace {

using train::ParameterGroup;

// timm's names; the shapes only tell vectors from matrices.
struct NamesOfVit : torch::nn::Module {
  explicit NamesOfVit(std::int64_t depth) {
    const auto add = [](torch::nn::Module& module, const std::string& name, std::vector<std::int64_t> shape) {
      module.register_parameter(name, torch::ones(shape));
    };
    const auto child = [](torch::nn::Module& parent, const std::string& name) {
      return parent.register_module(name, std::make_shared<torch::nn::Module>());
    };
    add(*this, "cls_token", {1, 1, 4});
    add(*this, "pos_embed", {1, 5, 4});
    const auto patches = child(*child(*this, "patch_embed"), "proj");
    add(*patches, "weight", {4, 1, 2, 2});
    add(*patches, "bias", {4});
    const auto blocks = child(*this, "blocks");
    for (std::int64_t i = 0; i < depth; ++i) {
      const auto block = child(*blocks, std::to_string(i));
      add(*child(*block, "norm1"), "weight", {4});
      add(*child(*child(*block, "attn"), "qkv"), "weight", {12, 4});
    }
    add(*child(*this, "norm"), "weight", {4});
    const auto head = child(*this, "head");
    add(*head, "weight", {2, 4});
    add(*head, "bias", {2});
  }
};

std::map<std::string, std::pair<double, double>> scale_and_decay(const std::vector<ParameterGroup>& groups) {
  std::map<std::string, std::pair<double, double>> result;
  for (const ParameterGroup& group : groups) {
    for (const auto& parameter : group.parameters) result[parameter.name] = {group.lr_scale, group.weight_decay};
  }
  return result;
}

TEST(ParameterGroups, OnlyMatricesAreDecayed) {
  const NamesOfVit model(2);
  const auto groups = train::parameter_groups(model, {.weight_decay = 0.05});
  ASSERT_EQ(groups.size(), 2);
  const auto of = scale_and_decay(groups);
  EXPECT_EQ(of.size(), model.parameters().size());
  for (const auto& [name, scale_decay] : of) {
    const bool decayed = name == "patch_embed.proj.weight" || name.ends_with("qkv.weight") || name == "head.weight";
    EXPECT_EQ(scale_decay.first, 1.0) << name;
    EXPECT_EQ(scale_decay.second, decayed ? 0.05 : 0.0) << name;
  }
  EXPECT_EQ(groups[0].parameters.front().name, "patch_embed.proj.weight");
  EXPECT_EQ(groups[0].parameters.back().name, "head.weight");
}

TEST(ParameterGroups, GainsOfHeadsOrOfDimensionsAreVectors) {
  struct Gains : torch::nn::Module {
    Gains() {
      register_parameter("quest_log_gain", torch::ones({3, 1}));
      register_parameter("quest_query_gain", torch::ones({1, 8}));
      register_parameter("quest_key_gain", torch::ones({3, 8}));
    }
  };
  const auto of = scale_and_decay(train::parameter_groups(Gains(), {.weight_decay = 0.05}));
  EXPECT_EQ(of.at("quest_log_gain").second, 0.0);
  EXPECT_EQ(of.at("quest_query_gain").second, 0.0);
  EXPECT_EQ(of.at("quest_key_gain").second, 0.05) << "one for each head and dimension";
}

// As in the published implementation, whose rule misses the tokens of the branches of a CrossViT by their names.
TEST(ParameterGroups, TokensOfBranchesAreDecayed) {
  struct Branches : torch::nn::Module {
    Branches() {
      for (const char* name : {"cls_token", "pos_embed"}) {
        register_module(name, torch::nn::ParameterList())->append(torch::ones({1, 2, 4}).requires_grad_());
      }
    }
  };
  const auto of = scale_and_decay(train::parameter_groups(Branches(), {.weight_decay = 0.05}));
  EXPECT_EQ(of.at("cls_token.0").second, 0.05);
  EXPECT_EQ(of.at("pos_embed.0").second, 0.05);
}

TEST(ParameterGroups, EverythingIsDecayedOnRequest) {
  const auto groups = train::parameter_groups(NamesOfVit(1), {.weight_decay = 0.05, .decay_all = true});
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].weight_decay, 0.05);
}

TEST(ParameterGroups, EachLayerLearnsSlowerThanTheOneAbove) {
  const auto groups = train::parameter_groups(NamesOfVit(12), {.weight_decay = 0.05, .layer_decay = 0.65});
  const auto of = scale_and_decay(groups);
  EXPECT_DOUBLE_EQ(of.at("cls_token").first, std::pow(0.65, 13));
  EXPECT_DOUBLE_EQ(of.at("pos_embed").first, std::pow(0.65, 13));
  EXPECT_DOUBLE_EQ(of.at("patch_embed.proj.weight").first, std::pow(0.65, 13));
  EXPECT_DOUBLE_EQ(of.at("blocks.0.norm1.weight").first, std::pow(0.65, 12));
  EXPECT_DOUBLE_EQ(of.at("blocks.9.attn.qkv.weight").first, std::pow(0.65, 3));
  EXPECT_DOUBLE_EQ(of.at("blocks.11.attn.qkv.weight").first, 0.65);
  EXPECT_DOUBLE_EQ(of.at("norm.weight").first, 0.65);
  EXPECT_DOUBLE_EQ(of.at("head.weight").first, 1.0);
  EXPECT_EQ(groups.front().parameters.front().name, "head.weight");
  EXPECT_EQ(groups.back().parameters.front().name, "cls_token");
}

TEST(ParameterGroups, ATasksRulesAreTaken) {
  const train::ParameterRules rules{.change = [](const std::string& name, train::ParameterRule& rule) {
    if (name.starts_with("block")) rule.lr_scale *= 0.1;
    if (name == "head.weight") rule.decays = false;
    if (name.starts_with("norm")) rule.lr_schedule = [](const train::Moment& moment) { return moment.progress(); };
  }};
  const auto groups =
      train::parameter_groups(NamesOfVit(1), {.weight_decay = 0.05, .layer_decay = 0.5, .rules = rules});
  const auto of = scale_and_decay(groups);
  EXPECT_DOUBLE_EQ(of.at("blocks.0.norm1.weight").first, 0.05) << "layer decay and the rule together";
  EXPECT_EQ(of.at("head.weight"), (std::pair{1.0, 0.0}));
  for (const auto& group : groups) {
    for (const auto& parameter : group.parameters) {
      EXPECT_EQ(static_cast<bool>(group.lr_schedule), parameter.name == "norm.weight") << parameter.name;
    }
  }
}

TEST(ParameterGroups, SharedParametersCountOnceAndFrozenOnesNot) {
  struct Tied : torch::nn::Module {
    Tied() {
      const at::Tensor table = register_parameter("table", torch::ones({4, 2}));
      register_parameter("again", table);
      register_parameter("frozen", torch::ones({4, 2}), /*requires_grad=*/false);
    }
  };
  const auto groups = train::parameter_groups(Tied(), {});
  ASSERT_EQ(groups.size(), 1);
  ASSERT_EQ(groups[0].parameters.size(), 1);
  EXPECT_EQ(groups[0].parameters[0].name, "table");
}

TEST(ParameterGroups, LayerDecayNeedsLayers) {
  EXPECT_THROW(train::parameter_groups(*torch::nn::Linear(2, 2), {.layer_decay = 0.5}), c10::Error);
  EXPECT_THROW(train::parameter_groups(NamesOfVit(1), {.layer_decay = 0.0}), c10::Error);
}

}  // namespace
}  // namespace quest::testing
