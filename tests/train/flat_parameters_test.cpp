#include "train/optim/flat_parameters.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/testing/tensors.h"
#include "tests/train/small_model.h"

namespace quest::testing {
namespace {

using train::FlatParameters;
using train::ParameterGroup;
using train::Slice;

at::Tensor parameter(std::vector<std::int64_t> shape) { return torch::randn(shape).set_requires_grad(true); }

void expect_refused(const std::vector<ParameterGroup>& groups, const std::string& reason) {
  try {
    const FlatParameters parameters(groups);
    FAIL() << "accepted; expected: " << reason;
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(FlatParameters, ModelComputesTheSameOnViewsOfOneBuffer) {
  auto model = small_model();
  const auto x = torch::randn({4, 5});
  const at::Tensor before = model->forward(x);
  const FlatParameters parameters = flat(model);
  EXPECT_TRUE(identical(model->forward(x), before));
  EXPECT_EQ(parameters.parameter_count(), 5 * 7 + 7 + 7 + 7 + 7 * 3 + 3);
  for (const Slice& slice : parameters.slices()) {
    EXPECT_EQ(slice.parameter.storage().data(), parameters.values().storage().data()) << slice.name;
    EXPECT_EQ(slice.offset % train::kSliceUnit, 0) << slice.name;
    EXPECT_TRUE(identical(slice.of(parameters.values()), slice.parameter)) << slice.name;
  }
  parameters.values().zero_();
  EXPECT_TRUE(all_zero(model->forward(x)));
}

TEST(FlatParameters, BackwardAddsToTheFlatGradients) {
  auto model = small_model();
  auto twin = small_model();
  FlatParameters parameters = flat(model);
  for (const std::int64_t seed : {3, 4}) {
    torch::manual_seed(seed);
    const auto x = torch::randn({4, 5});
    model->forward(x).square().sum().backward();
    twin->forward(x).square().sum().backward();
  }
  for (const Slice& slice : parameters.slices()) {
    EXPECT_TRUE(identical(slice.of(parameters.gradients()), twin->named_parameters()[slice.name].grad())) << slice.name;
  }
  parameters.zero_gradients();
  EXPECT_TRUE(all_zero(model->named_parameters()["0.weight"].grad()));
}

TEST(FlatParameters, LastParameterOfAGroupComesFirst) {
  auto model = small_model();
  const FlatParameters parameters = flat(model);
  std::vector<std::string> names;
  for (const Slice& slice : parameters.slices()) names.push_back(slice.name);
  EXPECT_EQ(names, (std::vector<std::string>{"3.weight", "0.weight", "3.bias", "2.bias", "2.weight", "0.bias"}));
  ASSERT_EQ(parameters.groups().size(), 2);
  EXPECT_EQ(parameters.groups()[0].begin, 0);
  EXPECT_EQ(parameters.groups()[0].end, parameters.groups()[1].begin);
  EXPECT_EQ(parameters.groups()[1].end, parameters.values().numel());
  EXPECT_EQ(parameters.groups()[1].slices.size(), 4);
  EXPECT_EQ(parameters.groups()[1].slices.front().name, "3.bias");
}

TEST(FlatParameters, StateFollowsNamesAndNotTheFlatOrder) {
  auto model = small_model(1);
  auto other = small_model(2);
  const FlatParameters parameters = flat(model);
  const FlatParameters reordered(train::parameter_groups(*other, {.weight_decay = 0.1, .decay_all = true}));
  ASSERT_NE(parameters.slices().front().offset, reordered.slices()[1].offset);
  train::load_named_slices(reordered, "value", train::named_slices(parameters, "value", parameters.values()),
                           reordered.values());
  const auto x = torch::randn({4, 5});
  EXPECT_TRUE(identical(other->forward(x), model->forward(x)));
}

TEST(FlatParameters, WrongStateIsRefusedByName) {
  auto model = small_model();
  const FlatParameters parameters = flat(model);
  auto saved = train::named_slices(parameters, "exp_avg", parameters.values());
  saved[1].second = torch::zeros({2});
  EXPECT_THROW(train::load_named_slices(parameters, "exp_avg", saved, parameters.values()), c10::Error);
  EXPECT_THROW(train::load_named_slices(parameters, "other", saved, parameters.values()), c10::Error);
}

TEST(FlatParameters, WhatCannotBeTrainedIsRefusedWithItsName) {
  const at::Tensor shared = parameter({3});
  expect_refused({{.parameters = {{"half", torch::zeros({2}, at::kHalf).set_requires_grad(true)}}}},
                 "'half' must be float32");
  expect_refused({{.parameters = {{"frozen", torch::zeros({2})}}}}, "'frozen' must be a leaf that requires gradients");
  expect_refused({{.parameters = {{"a", shared}, {"b", shared}}}}, "'a' is given twice");
  expect_refused({{.parameters = {{"empty", at::Tensor()}}}}, "'empty' is an undefined tensor");
  expect_refused({}, "must have parameters");
  expect_refused({{}}, "must not be empty");
}

}  // namespace
}  // namespace quest::testing
