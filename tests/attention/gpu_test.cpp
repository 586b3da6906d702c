// quest::attention on a GPU, through the CUDA operators where they are linked: the numbers of the CPU, gradients of
// every order, and the reasons for the reference. The operators themselves are tested in tests/cuda.

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>

#include "attention/choice.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
    torch::manual_seed(3);
  }
};

struct Inputs {
  at::Tensor q, k, v;

  explicit Inputs(std::int64_t dim = 64, at::ScalarType type = at::kFloat)
      : q(at::randn({2, 4, 70, dim}).to(type)),
        k(at::randn({2, 2, 90, dim}).to(type)),
        v(at::randn({2, 2, 90, dim}).to(type)) {}

  [[nodiscard]] Inputs on_gpu() const {
    Inputs moved = *this;
    for (at::Tensor* tensor : {&moved.q, &moved.k, &moved.v}) *tensor = tensor->detach().cuda().requires_grad_();
    return moved;
  }
};

AttentionOptions with_every_option(bool on_gpu) {
  const auto place = [&](const at::Tensor& tensor) { return on_gpu ? tensor.cuda() : tensor; };
  AttentionOptions options{.formulation = formulations::qknorm, .enable_gqa = true, .dropout_p = 0.2};
  options.gain = place(at::linspace(4.0, 9.0, 4 * 64).view({4, 64})).requires_grad_();
  options.mask = place(at::linspace(-1.0, 1.0, 70 * 90).view({70, 90})).requires_grad_();
  options.key_lengths = place(at::tensor(std::vector<std::int64_t>{90, 33}));
  options.dropout_seed = 11;
  return options;
}

TEST_F(Gpu, GivesTheNumbersOfTheCpuWithEveryOption) {
  Inputs host;
  for (at::Tensor* tensor : {&host.q, &host.k, &host.v}) tensor->requires_grad_();
  const Inputs there = host.on_gpu();
  const at::Tensor grad_out = at::randn_like(host.q);
  const AttentionOptions host_options = with_every_option(false);
  const AttentionOptions options = with_every_option(true);
  const AttentionResult expected = attention_with_stats(host.q, host.k, host.v, host_options);
  const AttentionResult actual = attention_with_stats(there.q, there.k, there.v, options);
  EXPECT_TRUE(close(actual.output.cpu(), expected.output, {.of_largest = 1e-5}));
  EXPECT_TRUE(close(actual.stats.entropy.cpu(), expected.stats.entropy, {.of_largest = 1e-5}));
  const auto host_gradients = torch::autograd::grad(
      {expected.output}, {host.q, host.k, host.v, host_options.gain, host_options.mask}, {grad_out});
  const auto gradients = torch::autograd::grad({actual.output}, {there.q, there.k, there.v, options.gain, options.mask},
                                               {grad_out.cuda()});
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_TRUE(close(gradients[i].cpu(), host_gradients[i], {.of_largest = 2e-5})) << "gradient " << i;
  }
}

TEST_F(Gpu, ComputesInFloat32WhatTorchDoes) {
  const Inputs narrow = Inputs(20, at::kBFloat16).on_gpu();
  Inputs wide = narrow;
  for (at::Tensor* tensor : {&wide.q, &wide.k, &wide.v}) *tensor = tensor->detach().to(at::kFloat).requires_grad_();
  AttentionOptions options{.enable_gqa = true};
  options.mask = at::linspace(-1.0, 1.0, 70 * 90).view({70, 90}).cuda().to(at::kBFloat16);
  AttentionOptions wide_options = options;
  wide_options.mask = options.mask.to(at::kFloat);
  EXPECT_NE(std::string(explain_path(narrow.q, narrow.k, narrow.v, options).reason).find("float32"), std::string::npos);
  const at::Tensor actual = attention(narrow.q, narrow.k, narrow.v, options);
  const at::Tensor expected = attention(wide.q, wide.k, wide.v, wide_options);
  EXPECT_TRUE(actual.equal(expected.to(at::kBFloat16)));
  const at::Tensor grad_out = at::randn_like(actual);
  const auto gradients = torch::autograd::grad({actual}, {narrow.q, narrow.k, narrow.v}, {grad_out});
  const auto wide_gradients = torch::autograd::grad({expected}, {wide.q, wide.k, wide.v}, {grad_out.to(at::kFloat)});
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_TRUE(gradients[i].equal(wide_gradients[i].to(at::kBFloat16))) << "gradient " << i;
  }
}

TEST_F(Gpu, DifferentiatesTwice) {
  const Inputs there = Inputs().on_gpu();
  const AttentionOptions options{.enable_gqa = true};
  const at::Tensor out = attention(there.q, there.k, there.v, options);
  const auto first = torch::autograd::grad({out.square().sum()}, {there.k}, {}, true, /*create_graph=*/true)[0];
  EXPECT_TRUE(all_finite(torch::autograd::grad({first.square().sum()}, {there.q})[0].cpu()));
}

TEST_F(Gpu, SaysWhyItTakesTheReference) {
  const AttentionOptions options{.enable_gqa = true};
  const auto choice_for = [&](const Inputs& inputs) { return explain_path(inputs.q, inputs.k, inputs.v, options); };
  const bool loaded = c10::Dispatcher::singleton()
                          .findSchemaOrThrow("quest::attention_forward", "")
                          .hasKernelForDispatchKey(c10::DispatchKey::CUDA);
  EXPECT_EQ(choice_for(Inputs().on_gpu()).path, loaded ? AttentionPath::fused : AttentionPath::reference);
  EXPECT_NE(std::string(choice_for(Inputs(64, at::kDouble).on_gpu()).reason).find(loaded ? "float64" : "not loaded"),
            std::string::npos);
  const Inputs wide = Inputs(300).on_gpu();
  EXPECT_NE(std::string(choice_for(wide).reason).find(loaded ? "up to 256" : "not loaded"), std::string::npos);
  EXPECT_TRUE(all_finite(attention(wide.q, wide.k, wide.v, options).detach().cpu()));
}

}  // namespace
}  // namespace quest::testing
