// One look at every road through quest::attention: fused against reference, first and second derivatives,
// forward mode, vmap, packing, dropout. The suites beside this file go into depth.

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "attention/choice.h"
#include "quest/attention.h"

namespace quest {
namespace {

constexpr double kFloat32Bound = 5e-6;

double relative_error(const at::Tensor& given, const at::Tensor& expected) {
  const at::Tensor difference = given.to(at::kDouble) - expected.to(at::kDouble);
  return (difference.norm() / expected.to(at::kDouble).norm().clamp_min(1e-30)).item<double>();
}

struct Inputs {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

Inputs random_inputs(at::IntArrayRef q_shape, at::IntArrayRef k_shape, std::int64_t value_dim) {
  const at::Tensor v = torch::randn({k_shape[0], k_shape[1], k_shape[2], value_dim});
  return {torch::randn(q_shape), torch::randn(k_shape), v};
}

AttentionOptions in_float64(AttentionOptions options) {
  options.gain = options.gain.defined() ? options.gain.detach().to(at::kDouble) : options.gain;
  if (options.mask.defined() && options.mask.is_floating_point()) {
    options.mask = options.mask.detach().to(at::kDouble);
  }
  return options;
}

struct Derivatives {
  at::Tensor out;
  std::vector<at::Tensor> gradients;  // of q, k, v and, where they ask for one, the gain and the mask
};

Derivatives differentiate(const Inputs& given, AttentionOptions options, const at::Tensor& grad_out) {
  std::vector<at::Tensor> leaves;
  const auto leaf = [&](const at::Tensor& tensor) {
    leaves.push_back(tensor.detach().clone().requires_grad_());
    return leaves.back();
  };
  const Inputs inputs{leaf(given.q), leaf(given.k), leaf(given.v)};
  if (options.gain.defined()) {
    options.gain = leaf(options.gain);
  }
  if (options.mask.defined() && options.mask.is_floating_point()) {
    options.mask = leaf(options.mask);
  }
  const at::Tensor out = attention(inputs.q, inputs.k, inputs.v, options);
  return {out.detach(), torch::autograd::grad({out}, leaves, {grad_out})};
}

void expect_fused_matches_reference(const Inputs& inputs, AttentionOptions options) {
  options.path = AttentionPath::fused;
  const at::Tensor grad_out = torch::randn({inputs.q.size(0), inputs.q.size(1), inputs.q.size(2), inputs.v.size(3)});
  const Derivatives fused = differentiate(inputs, options, grad_out);

  options.path = AttentionPath::reference;
  const Inputs exact{inputs.q.to(at::kDouble), inputs.k.to(at::kDouble), inputs.v.to(at::kDouble)};
  const Derivatives reference = differentiate(exact, in_float64(options), grad_out.to(at::kDouble));

  EXPECT_LE(relative_error(fused.out, reference.out), kFloat32Bound);
  ASSERT_EQ(fused.gradients.size(), reference.gradients.size());
  for (std::size_t i = 0; i < fused.gradients.size(); ++i) {
    EXPECT_LE(relative_error(fused.gradients[i], reference.gradients[i]), kFloat32Bound) << "gradient " << i;
  }
}

TEST(AttentionSmoke, EveryFormulationMatchesTheReference) {
  torch::manual_seed(1);
  const Inputs inputs = random_inputs({2, 4, 19, 24}, {2, 4, 33, 24}, 17);
  for (const Formulation& formulation : all_formulations()) {
    SCOPED_TRACE(std::string(formulation.name));
    AttentionOptions options{.formulation = formulation};
    if (formulation.gain_axes != GainAxes::none) {
      options.gain = torch::rand({4, 24}) + 0.5;
    }
    const bool estimated = formulation.gain_axes != GainAxes::none && !formulation.gain_is_learned;
    if (!estimated) {
      expect_fused_matches_reference(inputs, options);
    }
    options.path = AttentionPath::fused;
    const at::Tensor fused = attention(inputs.q, inputs.k, inputs.v, options);
    options.path = AttentionPath::reference;
    EXPECT_LE(relative_error(fused, attention(inputs.q, inputs.k, inputs.v, options)), kFloat32Bound);
  }
}

TEST(AttentionSmoke, OptionsMatchTheReference) {
  torch::manual_seed(2);
  const Inputs inputs = random_inputs({2, 4, 19, 16}, {2, 4, 23, 16}, 16);
  const Inputs grouped = random_inputs({2, 4, 19, 16}, {2, 2, 23, 16}, 20);
  const Inputs packed = random_inputs({1, 3, 20, 16}, {1, 3, 25, 16}, 16);
  const auto lengths = [](std::vector<std::int64_t> values) { return torch::tensor(values); };
  expect_fused_matches_reference(inputs, {.gain = torch::rand({4})});
  expect_fused_matches_reference(inputs, {.mask = torch::rand({2, 1, 19, 23}) > 0.4});
  expect_fused_matches_reference(inputs, {.mask = torch::randn({4, 19, 23})});
  expect_fused_matches_reference(inputs, {.mask = torch::randn({2, 1, 1, 23})});
  expect_fused_matches_reference(inputs, {.is_causal = true});
  expect_fused_matches_reference(
      inputs, {.is_causal = true, .causal_alignment = CausalAlignment::lower_right, .key_lengths = lengths({23, 11})});
  expect_fused_matches_reference(inputs, {.key_lengths = lengths({0, 7})});
  expect_fused_matches_reference(inputs, {.dropout_p = 0.3, .dropout_seed = 11});
  expect_fused_matches_reference(grouped, {.enable_gqa = true});
  expect_fused_matches_reference(packed, {.is_causal = true,
                                          .cu_seqlens_q = lengths({0, 4, 4, 20}),
                                          .cu_seqlens_k = lengths({0, 9, 12, 25}),
                                          .dropout_p = 0.2,
                                          .dropout_seed = 5});
}

TEST(AttentionSmoke, DerivativeOfTheDerivativeComesFromTheReference) {
  torch::manual_seed(3);
  const auto second_derivative = [](const at::Tensor& x, AttentionPath path) {
    const at::Tensor leaf = x.detach().clone().requires_grad_();
    // The same tensor three times: each role must count once.
    const at::Tensor out = attention(leaf, leaf, leaf, {.is_causal = true, .path = path});
    const at::Tensor first = torch::autograd::grad({out.square().sum()}, {leaf}, {}, true, true)[0];
    return torch::autograd::grad({first.square().sum()}, {leaf})[0];
  };
  const at::Tensor x = torch::randn({2, 2, 9, 8});
  EXPECT_LE(relative_error(second_derivative(x, AttentionPath::fused),
                           second_derivative(x.to(at::kDouble), AttentionPath::reference)),
            2 * kFloat32Bound);
}

TEST(AttentionSmoke, ForwardModeAgreesWithBackward) {
  torch::manual_seed(5);
  const at::Tensor q = torch::randn({2, 2, 5, 8}).requires_grad_();
  const at::Tensor k = torch::randn({2, 2, 7, 8});
  const at::Tensor direction = torch::randn_like(q);
  const at::Tensor cotangent = torch::randn_like(q);
  const auto level = torch::autograd::ForwardADLevel::get_next_idx();
  const at::Tensor dual = at::_make_dual(q.detach(), direction, static_cast<std::int64_t>(level));
  EXPECT_EQ(explain_path(dual, k, k).path, AttentionPath::reference);
  const at::Tensor tangent = attention(dual, k, k)._fw_grad(level);
  torch::autograd::ForwardADLevel::release_idx(level);
  const at::Tensor gradient = torch::autograd::grad({attention(q, k, k)}, {q}, {cotangent})[0];
  EXPECT_NEAR((tangent * cotangent).sum().item<double>(), (gradient * direction).sum().item<double>(), 1e-4);
}

TEST(AttentionSmoke, VmapGivesWhatALoopGives) {
  torch::manual_seed(4);
  const at::Tensor q = torch::randn({3, 2, 2, 5, 8});
  const at::Tensor k = torch::randn({2, 2, 6, 8});
  const AttentionOptions options{.is_causal = true};
  namespace functorch = at::functorch;
  const auto level = functorch::initAndPushDynamicLayer(functorch::TransformType::Vmap, c10::SymInt(3),
                                                        functorch::RandomnessType::Different);
  const at::Tensor batched = functorch::makeBatched(q, 0, level);
  EXPECT_EQ(explain_path(batched, k, k, options).path, AttentionPath::reference);
  const at::Tensor mapped = attention(batched, k, k, options);
  functorch::popDynamicLayerAndDeleteMetadata();
  const auto* inside = functorch::maybeGetBatchedImpl(mapped);
  ASSERT_NE(inside, nullptr);
  const at::Tensor result = inside->value().movedim(inside->bdim(), 0);
  for (std::int64_t i = 0; i < q.size(0); ++i) {
    EXPECT_LE(relative_error(result[i], attention(q[i], k, k, options)), kFloat32Bound);
  }
}

TEST(AttentionSmoke, ChoiceSaysWhy) {
  const at::Tensor x = torch::randn({1, 1, 3, 4});
  EXPECT_EQ(explain_path(x, x, x).path, AttentionPath::fused);
  const at::Tensor exact = x.to(at::kDouble);
  EXPECT_EQ(explain_path(exact, exact, exact).path, AttentionPath::reference);
  try {
    (void)attention(exact, exact, exact, {.path = AttentionPath::fused});
    FAIL() << "the fused path served float64";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what_without_backtrace()).find("float64"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace quest
