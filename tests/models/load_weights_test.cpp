// Weights by name: what is accepted, what is refused and with which words.

#include "quest/models/load_weights.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "quest/models/vit.h"
#include "quest/nn/position_embedding.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using models::load_weights_into;
using models::NamedTensors;
using models::ViT;
using models::ViTOptions;

ViTOptions tiny() {
  return ViTOptions().image_size(16).patch_size(4).channels(1).classes(5).dim(8).depth(2).heads(2).layer_scale(0.1);
}

NamedTensors weights_of(const ViT& vit) {
  NamedTensors weights;
  for (const auto& item : vit->named_parameters()) {
    weights.emplace_back(item.key(), at::randn_like(item.value()));
  }
  return weights;
}

void expect_loaded(const ViT& vit, const NamedTensors& weights) {
  const auto parameters = vit->named_parameters();
  for (const auto& [name, value] : weights) {
    EXPECT_TRUE(identical(parameters[name], value)) << name;
  }
}

std::string refusal(ViT& vit, const NamedTensors& weights, const models::LoadOptions& options = {}) {
  const NamedTensors before = weights_of(vit);
  load_weights_into(*vit, before);
  try {
    load_weights_into(*vit, weights, options);
  } catch (const c10::Error& error) {
    expect_loaded(vit, before);
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "expected \"" << part << "\" in: " << text;
}

TEST(LoadWeights, ByName) {
  ViT vit(tiny());
  const NamedTensors weights = weights_of(vit);
  load_weights_into(*vit, weights);
  expect_loaded(vit, weights);
}

TEST(LoadWeights, WithTheNamesOfOtherPrograms) {
  ViT vit(tiny());
  const NamedTensors weights = weights_of(vit);
  NamedTensors other = weights;
  for (auto& [name, value] : other) {
    for (const auto& [now, before] : {std::pair{".ls1.gamma", ".gamma_1"}, std::pair{".ls2.gamma", ".gamma_2"}}) {
      if (const auto at = name.find(now); at != std::string::npos) {
        name = name.substr(0, at) + before;
      }
    }
    name = "model.module." + name;
  }
  load_weights_into(*vit, other);
  expect_loaded(vit, weights);
}

TEST(LoadWeights, ResizesPositions) {
  ViT vit(tiny());
  NamedTensors weights = weights_of(vit);
  const at::Tensor other_grid = at::randn({1, 1 + 25, 8});
  for (auto& [name, value] : weights) {
    value = name == "pos_embed" ? other_grid : value;
  }
  load_weights_into(*vit, weights);
  EXPECT_TRUE(identical(vit->pos_embed, nn::resize_position_embedding(other_grid, 1, {4, 4})));
}

TEST(LoadWeights, ResizesPositionsThatLeaveOutTheClassToken) {
  ViT vit(tiny().class_token_position(false));
  NamedTensors weights = weights_of(vit);
  const at::Tensor other_grid = at::randn({1, 25, 8});
  for (auto& [name, value] : weights) {
    value = name == "pos_embed" ? other_grid : value;
  }
  load_weights_into(*vit, weights);
  EXPECT_TRUE(identical(vit->pos_embed, nn::resize_position_embedding(other_grid, 0, {4, 4})));
}

TEST(LoadWeights, KeepsWhatItIsAskedTo) {
  ViT vit(tiny());
  const at::Tensor head = vit->head->weight.detach().clone();
  NamedTensors weights = weights_of(vit);
  for (auto& [name, value] : weights) {
    value = name.starts_with("head.") ? at::zeros({1000, 8}) : value;
  }
  load_weights_into(*vit, weights, {.keep = {"head."}});
  EXPECT_TRUE(identical(vit->head->weight, head));
}

TEST(LoadWeights, AnOlderModelHasNoGains) {
  const NamedTensors weights = weights_of(ViT(tiny()));
  ViT vit(tiny().formulation(formulations::qknorm));
  load_weights_into(*vit, weights);
  expect_loaded(vit, weights);
}

TEST(LoadWeights, RefusesWhatDoesNotFitAndChangesNothing) {
  ViT vit(tiny());
  NamedTensors weights = weights_of(vit);
  weights.pop_back();
  weights.emplace_back("head.weights", at::zeros({5, 8}));
  weights[0].second = at::zeros({1, 1, 9});
  const std::string message = refusal(vit, weights);
  expect_contains(message, "missing (1): head.bias");
  expect_contains(message, "unexpected (1): head.weights");
  expect_contains(message, "of another shape (1): cls_token (expected [1, 1, 8], given [1, 1, 9])");
}

TEST(LoadWeights, RefusesTheSameNameTwice) {
  ViT vit(tiny());
  NamedTensors weights = weights_of(vit);
  weights.emplace_back("module.cls_token", at::zeros({1, 1, 8}));
  expect_contains(refusal(vit, weights), "unexpected (1): module.cls_token");
}

}  // namespace
}  // namespace quest::testing
