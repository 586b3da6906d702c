// What torch.optim has is compared with it in test_torch.py; here LAMB, and what holds of every optimiser.

#include "train/optim/optimizer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/testing/tensors.h"
#include "tests/train/small_model.h"
#include "train/optim/clipping.h"
#include "train/optim/flat_updates.h"

namespace quest::testing {
namespace {

using train::FlatParameters;
using train::Optimizer;
using train::OptimizerOptions;
using train::Slice;

constexpr Bound kMillionth{.of_value = 1e-6, .absolute = 1e-6};

// Gradients that do not depend on the parameters, so that only the rule is compared.
void set_gradients(FlatParameters& parameters, std::int64_t step) {
  for (const Slice& slice : parameters.slices()) {
    torch::manual_seed(100 * step + slice.numel());
    slice.parameter.mutable_grad().copy_(torch::randn(slice.shape) * 0.1);
  }
}

void train(FlatParameters& parameters, Optimizer& optimizer, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step < last; ++step) {
    set_gradients(parameters, step);
    optimizer.step(1e-2);
  }
}

// The published rule, one tensor at a time in float64.
struct PlainLamb {
  at::Tensor value, first, second;
  double weight_decay;

  PlainLamb(const at::Tensor& start, double decay)
      : value(start.to(at::kDouble)),
        first(at::zeros_like(value)),
        second(at::zeros_like(value)),
        weight_decay(decay) {}

  void step(const at::Tensor& gradient, double lr, std::int64_t t) {
    const at::Tensor g = gradient.to(at::kDouble);
    first = 0.9 * first + 0.1 * g;
    second = 0.999 * second + 0.001 * g * g;
    const at::Tensor m = first / (1 - std::pow(0.9, t));
    const at::Tensor v = second / (1 - std::pow(0.999, t));
    const at::Tensor u = m / (v.sqrt() + 1e-8) + weight_decay * value;
    const double value_norm = value.norm().item<double>();
    const double update_norm = u.norm().item<double>();
    const double ratio = weight_decay != 0 && value_norm > 0 && update_norm > 0 ? value_norm / update_norm : 1.0;
    value = value - lr * ratio * u;
  }
};

TEST(Optimizer, LambFollowsThePublishedRule) {
  auto model = small_model();
  FlatParameters parameters = flat(model, 0.05);
  parameters.slices()[1].of(parameters.values()).zero_();
  std::vector<PlainLamb> expected;
  for (const Slice& slice : parameters.slices()) {
    expected.emplace_back(slice.of(parameters.values()), parameters.groups()[slice.group].weight_decay);
  }
  Optimizer optimizer(parameters, {.name = "lamb"});
  for (std::int64_t t = 1; t <= 100; ++t) {
    set_gradients(parameters, t);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i].step(parameters.slices()[i].of(parameters.gradients()), 1e-2, t);
    }
    optimizer.step(1e-2);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(parameters.slices()[i].parameter, expected[i].value, kMillionth)) << parameters.slices()[i].name;
  }
}

// As DeiT-3 trains: all gradients are first scaled to a norm of at most 1 together.
TEST(Optimizer, LambFollowsTheRuleOfDeiT3) {
  auto model = small_model();
  FlatParameters parameters = flat(model, 0.05);
  std::vector<PlainLamb> expected;
  for (const Slice& slice : parameters.slices()) {
    expected.emplace_back(slice.of(parameters.values()), parameters.groups()[slice.group].weight_decay);
  }
  Optimizer optimizer(parameters, {.name = "lamb"});
  for (std::int64_t t = 1; t <= 100; ++t) {
    set_gradients(parameters, t);
    parameters.gradients().mul_(t % 3 == 0 ? 5.0 : 0.2);  // some above, some below
    const double norm = parameters.gradients().to(at::kDouble).norm().item<double>();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor gradient = parameters.slices()[i].of(parameters.gradients()).to(at::kDouble);
      expected[i].step(gradient / std::max(1.0, norm), 3e-3, t);
    }
    train::clip_gradients(parameters, 1.0);
    optimizer.step(3e-3);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(parameters.slices()[i].parameter, expected[i].value, kMillionth)) << parameters.slices()[i].name;
  }
}

TEST(Optimizer, TheRateGrowsWithTheSamplesOfAStepOnRequest) {
  EXPECT_EQ(train::base_learning_rate({.lr = 5e-4}, 4096), 5e-4);
  EXPECT_DOUBLE_EQ(train::base_learning_rate({.lr = 5e-4, .lr_batch = 512}, 1024), 1e-3);
  EXPECT_DOUBLE_EQ(train::base_learning_rate({.lr = 5e-4, .lr_batch = 512}, 64), 6.25e-5);
}

class EveryOptimizer : public ::testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] static OptimizerOptions options() { return {.name = std::string(GetParam())}; }
};

INSTANTIATE_TEST_SUITE_P(Rules, EveryOptimizer, ::testing::ValuesIn(train::optimizer_names()),
                         [](const auto& rule) { return std::string(rule.param); });

TEST_P(EveryOptimizer, ContinuesFromItsStateToTheSameBits) {
  auto whole_model = small_model();
  FlatParameters whole = flat(whole_model);
  Optimizer uninterrupted(whole, options());
  train(whole, uninterrupted, 0, 12);

  auto first_model = small_model();
  FlatParameters first = flat(first_model);
  Optimizer before(first, options());
  train(first, before, 0, 7);

  auto second_model = small_model(9);
  FlatParameters second = flat(second_model);
  Optimizer after(second, options());
  train::load_named_slices(second, "value", train::named_slices(first, "value", first.values()), second.values());
  after.load_state(before.state());
  train(second, after, 7, 12);
  EXPECT_TRUE(identical(second.values(), whole.values()));
}

TEST_P(EveryOptimizer, FactorOfAGroupScalesItsRate) {
  auto plain_model = small_model();
  FlatParameters plain = flat(plain_model);
  auto scaled_model = small_model();
  const train::ParameterRules quarter{.change = [](const auto& /*name*/, auto& rule) { rule.lr_scale = 0.25; }};
  FlatParameters scaled(train::parameter_groups(*scaled_model, {.weight_decay = 0.1, .rules = quarter}));
  Optimizer one(plain, options());
  Optimizer other(scaled, options());
  for (std::int64_t step = 0; step < 5; ++step) {
    set_gradients(plain, step);
    set_gradients(scaled, step);
    one.step(0.01);
    other.step(0.04);
  }
  EXPECT_TRUE(identical(scaled.values(), plain.values()));
}

TEST_P(EveryOptimizer, AFrozenGroupStaysAsItIsAndBeginsAfresh) {
  auto frozen_model = small_model();
  const train::ParameterRules rules{.change = [](const auto& /*name*/, auto& rule) {
    rule.lr_schedule = [](const train::Moment& moment) { return moment.epoch() < 1.5 ? 0.0 : 1.0; };
  }};
  FlatParameters frozen(train::parameter_groups(*frozen_model, {.weight_decay = 0.1, .rules = rules}));
  auto fresh_model = small_model();
  FlatParameters fresh = flat(fresh_model);
  Optimizer one(frozen, options());
  Optimizer other(fresh, options());
  for (std::int64_t step = 0; step < 10; ++step) {
    set_gradients(frozen, step);
    one.step(0.01, {.moment = {step, 10, 3}});
    if (step >= 5) {  // 5 / 3 is the first not below 1.5
      set_gradients(fresh, step);
      other.step(0.01);
    }
    const auto expected = fresh_model->named_parameters();
    for (const auto& parameter : frozen_model->named_parameters()) {
      EXPECT_TRUE(identical(parameter.value(), expected[parameter.key()])) << parameter.key() << " " << step;
    }
  }
}

TEST_P(EveryOptimizer, AWeightDecayOfTheStepTakesThePlaceOfTheGroups) {
  auto given_model = small_model();
  FlatParameters given = flat(given_model, 0.2);
  auto changed_model = small_model();
  FlatParameters changed = flat(changed_model, 0.7);
  Optimizer one(given, options());
  Optimizer other(changed, options());
  for (std::int64_t step = 0; step < 3; ++step) {
    set_gradients(given, step);
    set_gradients(changed, step);
    one.step(0.01);
    other.step(0.01, {.weight_decay = 0.2});
  }
  EXPECT_TRUE(identical(changed.values(), given.values()));
}

TEST_P(EveryOptimizer, ResultDoesNotDependOnThreads) {
  const int before = at::get_num_threads();
  const auto run = [](int threads) {
    at::set_num_threads(threads);
    torch::manual_seed(5);
    const torch::nn::Linear model(301, 257);
    FlatParameters parameters(train::parameter_groups(*model, {.weight_decay = 0.1}));
    Optimizer optimizer(parameters, options());
    train(parameters, optimizer, 0, 3);
    return parameters.values().clone();
  };
  const at::Tensor one = run(1);
  EXPECT_TRUE(identical(run(3), one));
  at::set_num_threads(before);
}

TEST_P(EveryOptimizer, RefusesTheStateOfAnother) {
  auto model = small_model();
  FlatParameters parameters = flat(model);
  Optimizer optimizer(parameters, options());
  EXPECT_THROW(optimizer.load_state({}), c10::Error);
  EXPECT_THROW(optimizer.load_state({{"step", torch::zeros({}, at::kLong)}}), c10::Error);
}

TEST(Optimizer, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  auto model = small_model();
  FlatParameters parameters = flat(model);
  try {
    const Optimizer optimizer(parameters, {.name = "adamax"});
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("unknown optimizer 'adamax'; known are adamw, adam, radam, lamb, sgd"),
              std::string::npos)
        << error.what();
  }
}

// The arithmetic for devices without kernels of ours, on the CPU.
struct Buffers {
  torch::nn::Sequential model = small_model();
  FlatParameters parameters = flat(model);
  at::Tensor first = torch::zeros_like(parameters.values());
  at::Tensor second = torch::zeros_like(parameters.values());

  Buffers() {
    for (const Slice& slice : parameters.slices()) {
      slice.of(first).normal_();
      slice.of(second).uniform_();
    }
    set_gradients(parameters, 1);
  }
  [[nodiscard]] train::AdamBuffers all() const { return {parameters.values(), parameters.gradients(), first, second}; }
};

void expect_close(const Buffers& actual, const Buffers& expected) {
  for (const Slice& slice : expected.parameters.slices()) {
    EXPECT_TRUE(close(slice.of(actual.parameters.values()), slice.parameter, kMillionth)) << slice.name;
    EXPECT_TRUE(close(slice.of(actual.first), slice.of(expected.first), kMillionth)) << slice.name;
    EXPECT_TRUE(close(slice.of(actual.second), slice.of(expected.second), kMillionth)) << slice.name;
  }
}

TEST(PlainUpdates, EqualTheKernels) {
  for (const bool adaptive : {false, true}) {
    const train::AdamStep step{.beta1 = 0.9,
                               .beta2 = 0.99,
                               .l2 = 0.1,
                               .step_size = 0.1,
                               .root_scale = 1.5,
                               .eps = 1e-3,
                               .decay = 0.01,
                               .adaptive = adaptive};
    Buffers kernels;
    Buffers plain;
    train::adam(step, kernels.all());
    train::plain::adam(step, plain.all());
    expect_close(plain, kernels);
    const train::Share whole(kernels.parameters);
    const auto pieces = whole.pieces(kernels.parameters.slices(), {});
    train::lamb(step, 0.1, kernels.all(), pieces, whole);
    train::plain::lamb(step, 0.1, plain.all(), pieces, whole);
    expect_close(plain, kernels);
    train::sgd({0.1, 0.9, 0.1, adaptive}, kernels.parameters.values(), kernels.parameters.gradients(), kernels.first);
    train::plain::sgd({0.1, 0.9, 0.1, adaptive}, plain.parameters.values(), plain.parameters.gradients(), plain.first);
    expect_close(plain, kernels);
    const auto norms = train::slice_norms(kernels.parameters.gradients(), pieces, whole);
    for (std::size_t i = 0; i < norms.size(); ++i) {
      const auto gradient = kernels.parameters.slices()[i].of(kernels.parameters.gradients());
      const double expected = gradient.to(at::kDouble).norm().item<double>();
      EXPECT_NEAR(norms[i], expected, kMillionth.of_value * expected);
    }
  }
}

}  // namespace
}  // namespace quest::testing
