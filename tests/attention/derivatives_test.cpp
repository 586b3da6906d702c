// First and second derivatives, forward mode and vmap, for every formulation, mask kind and gain shape.

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/attention/attention_case.h"
#include "tests/testing/finite_difference.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

std::vector<AttentionCase> derivative_cases() {
  std::vector<AttentionCase> cases;
  for (const Formulation& formulation : all_formulations()) {
    for (const GainShape gain : {GainShape::none, GainShape::scalar, GainShape::heads, GainShape::dims,
                                 GainShape::heads_and_dims, GainShape::heads_column, GainShape::dims_row}) {
      if (gain == GainShape::none && formulation.gain_axes != GainAxes::none) {
        continue;
      }
      for (const auto& [mask, causal] :
           {std::pair(MaskShape::none, CausalKind::none), std::pair(MaskShape::bool_full, CausalKind::none),
            std::pair(MaskShape::additive_full, CausalKind::none), std::pair(MaskShape::none, CausalKind::top_left)}) {
        cases.push_back({.shape = {.batch = 1, .heads = 2, .queries = 3, .dim = 3, .keys = 4, .value_dim = 2},
                         .formulation = formulation,
                         .gain = gain,
                         .mask = mask,
                         .causal = causal,
                         .type = at::kDouble});
      }
    }
  }
  return of_test_set(cases);
}

std::vector<AttentionCase> other_option_cases() {
  AttentionCase base{
      .shape = {.batch = 2, .heads = 2, .queries = 3, .dim = 3, .keys = 4, .value_dim = 2, .kv_heads = 1},
      .type = at::kDouble};
  AttentionCase lengths = base;
  lengths.lengths = LengthKind::key_lengths;
  AttentionCase packed = base;
  packed.lengths = LengthKind::packed;
  AttentionCase dropout = base;
  dropout.dropout = 0.3;
  AttentionCase lower_right = base;
  lower_right.causal = CausalKind::lower_right;
  AttentionCase broadcast_mask = base;
  broadcast_mask.mask = MaskShape::additive_keys;
  return {base, lengths, packed, dropout, lower_right, broadcast_mask};
}

// Attention as a function of everything that may have a derivative: q, k, v, gain, mask.
struct Differentiable {
  std::vector<at::Tensor> inputs;
  TensorFunction function;
};

Differentiable differentiable(const AttentionInputs& given, AttentionPath path = AttentionPath::automatic) {
  Differentiable result;
  result.inputs = {given.q, given.k, given.v};
  const bool gain = given.options.gain.defined();
  // A gain that is estimated rather than learned has no derivative to check.
  const bool learned =
      given.options.formulation.gain_axes == GainAxes::none || given.options.formulation.gain_is_learned;
  const bool mask = given.options.mask.defined() && given.options.mask.is_floating_point();
  if (gain) {
    result.inputs.push_back(given.options.gain.detach().requires_grad_(learned));
  }
  if (mask) {
    result.inputs.push_back(given.options.mask);
  }
  result.function = [=, options = given.options](const std::vector<at::Tensor>& inputs) mutable {
    options.path = path;
    if (gain) {
      options.gain = inputs[3];
    }
    if (mask) {
      options.mask = inputs.back();
    }
    return attention(inputs[0], inputs[1], inputs[2], options);
  };
  return result;
}

class Derivatives : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Derivatives, MatchCentralDifferences) {
  const Differentiable test = differentiable(make_inputs(GetParam()));
  EXPECT_TRUE(gradcheck(test.function, test.inputs));
}

TEST_P(Derivatives, OfDerivativesMatchCentralDifferences) {
  const Differentiable test = differentiable(make_inputs(GetParam()));
  EXPECT_TRUE(gradgradcheck(test.function, test.inputs));
}

TEST_P(Derivatives, InForwardModeMatchCentralDifferences) {
  const Differentiable test = differentiable(make_inputs(GetParam()));
  EXPECT_TRUE(forward_gradcheck(test.function, test.inputs));
}

INSTANTIATE_TEST_SUITE_P(Formulations, Derivatives, ::testing::ValuesIn(derivative_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);
INSTANTIATE_TEST_SUITE_P(Options, Derivatives, ::testing::ValuesIn(other_option_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);

// A zero key is a corner of the norm: its derivatives are zero by definition, never NaN.
TEST(DerivativesAtZero, AreZeroAndFinite) {
  AttentionInputs inputs =
      make_inputs({.shape = {.batch = 1, .heads = 2, .queries = 3, .dim = 3, .keys = 4}, .type = at::kDouble});
  inputs.k = inputs.k.detach().clone();
  inputs.k.select(2, 1).zero_();
  inputs.k.requires_grad_();
  const at::Tensor output = attention(inputs.q, inputs.k, inputs.v);
  const std::vector<at::Tensor> first =
      torch::autograd::grad({output}, {inputs.q, inputs.k, inputs.v}, {inputs.grad_out}, true, true);
  EXPECT_TRUE(all_zero(first[1].select(2, 1)));
  const at::Tensor sum = first[0].square().sum() + first[1].square().sum() + first[2].square().sum();
  for (const at::Tensor& second : torch::autograd::grad({sum}, {inputs.q, inputs.k, inputs.v})) {
    EXPECT_TRUE(all_finite(second));
  }
}

class SinglePrecision : public ::testing::TestWithParam<AttentionCase> {};

// The gradient penalty of a fused float32 forward against the same in float64.
TEST_P(SinglePrecision, SecondDerivativesOfTheFusedPath) {
  const auto penalty_gradients = [](const AttentionInputs& inputs) {
    const Differentiable test = differentiable(inputs);
    std::vector<at::Tensor> leaves = test.inputs;
    const at::Tensor output = test.function(leaves);
    at::Tensor penalty = at::zeros({}, output.options());
    for (const at::Tensor& gradient : torch::autograd::grad({output}, leaves, {inputs.grad_out}, true, true)) {
      penalty = penalty + gradient.square().sum();
    }
    return torch::autograd::grad({penalty}, leaves);
  };
  const AttentionInputs inputs = make_inputs(GetParam());
  const std::vector<at::Tensor> actual = penalty_gradients(inputs);
  const std::vector<at::Tensor> expected = penalty_gradients(in_double(inputs));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].scalar_type(), at::kFloat);
    EXPECT_TRUE(close(actual[i], expected[i], {.of_largest = 2e-5})) << "input " << i;
  }
}

TEST_P(SinglePrecision, ForwardModeAgreesWithBackward) {
  const AttentionInputs inputs = make_inputs(GetParam());
  const Differentiable test = differentiable(inputs);
  std::vector<at::Tensor> tangents;
  for (const at::Tensor& input : test.inputs) {
    tangents.push_back(at::randn_like(input).detach());
  }
  const Dual dual = forward_mode(test.function, test.inputs, tangents);
  ASSERT_TRUE(dual.tangent.defined());
  const at::Tensor output = test.function(test.inputs);
  EXPECT_TRUE(close(dual.primal, output, {.of_largest = 5e-6}));
  const std::vector<at::Tensor> gradients = torch::autograd::grad({output}, test.inputs, {inputs.grad_out});
  double backward = 0.0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    backward += (gradients[i].to(at::kDouble) * tangents[i]).sum().item<double>();
  }
  const at::Tensor forward = dual.tangent.to(at::kDouble) * inputs.grad_out;
  EXPECT_NEAR(forward.sum().item<double>(), backward, 1e-5 * forward.abs().sum().item<double>());
}

std::vector<AttentionCase> single_precision_cases() {
  AttentionCase base{.shape = {.batch = 2, .heads = 4, .queries = 17, .dim = 16, .keys = 33, .kv_heads = 2}};
  AttentionCase gain = base;
  gain.formulation = formulations::qknorm;
  gain.gain = GainShape::heads_and_dims;
  gain.mask = MaskShape::additive_heads;
  AttentionCase causal = base;
  causal.formulation = formulations::standard;
  causal.causal = CausalKind::top_left;
  causal.dropout = 0.2;
  return {base, gain, causal};
}

INSTANTIATE_TEST_SUITE_P(Cases, SinglePrecision, ::testing::ValuesIn(single_precision_cases()),
                         case_name<::testing::TestParamInfo<AttentionCase>>);

// Runs the function with dimension 0 of every input hidden, as torch.vmap does, and gives it back on the output.
at::Tensor vmap(const TensorFunction& function, const std::vector<at::Tensor>& inputs) {
  namespace functorch = at::functorch;
  const std::int64_t level = functorch::initAndPushDynamicLayer(functorch::TransformType::Vmap, inputs[0].size(0),
                                                                functorch::RandomnessType::Error);
  at::Tensor result;
  try {
    std::vector<at::Tensor> batched;
    for (const at::Tensor& input : inputs) {
      batched.push_back(functorch::addBatchDim(input, 0, level));
    }
    result = function(batched);
  } catch (...) {
    functorch::popDynamicLayerAndDeleteMetadata();
    throw;
  }
  functorch::popDynamicLayerAndDeleteMetadata();
  const auto* implementation = functorch::maybeGetBatchedImpl(result);
  return implementation->value().movedim(implementation->bdim(), 0);
}

class Vmap : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  static std::vector<at::Tensor> stacked_inputs() {
    torch::manual_seed(4);
    std::vector<at::Tensor> inputs{at::randn({3, 2, 2, 5, 8}), at::randn({3, 2, 2, 7, 8}), at::randn({3, 2, 2, 7, 4})};
    for (at::Tensor& input : inputs) {
      input = input.to(GetParam()).requires_grad_();
    }
    return inputs;
  }
  static at::Tensor one_by_one(const TensorFunction& function, const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> outputs;
    for (std::int64_t i = 0; i < inputs[0].size(0); ++i) {
      std::vector<at::Tensor> slice;
      for (const at::Tensor& input : inputs) {
        slice.push_back(input[i]);
      }
      outputs.push_back(function(slice));
    }
    return at::stack(outputs);
  }
};

TEST_P(Vmap, EqualsALoopAndSoDoItsGradients) {
  const std::vector<at::Tensor> inputs = stacked_inputs();
  for (const bool causal : {false, true}) {
    SCOPED_TRACE(causal);
    const TensorFunction function = [causal](const std::vector<at::Tensor>& x) {
      return attention(x[0], x[1], x[2], {.is_causal = causal});
    };
    const at::Tensor mapped = vmap(function, inputs);
    const at::Tensor looped = one_by_one(function, inputs);
    const Bound bound{.of_largest = GetParam() == at::kDouble ? 1e-13 : 5e-6};
    EXPECT_TRUE(close(mapped, looped, bound));
    const std::vector<at::Tensor> mapped_gradients = torch::autograd::grad({mapped.square().sum()}, inputs);
    const std::vector<at::Tensor> looped_gradients = torch::autograd::grad({looped.square().sum()}, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(close(mapped_gradients[i], looped_gradients[i], bound)) << "input " << i;
    }
  }
}

TEST_P(Vmap, OverAnAdditiveMask) {
  const std::vector<at::Tensor> inputs = stacked_inputs();
  const at::Tensor masks = at::randn({3, 5, 7}).to(GetParam());
  const auto with_mask = [](const std::vector<at::Tensor>& x) { return attention(x[0], x[1], x[2], {.mask = x[3]}); };
  std::vector<at::Tensor> all = inputs;
  all.push_back(masks);
  EXPECT_TRUE(close(vmap(with_mask, all), one_by_one(with_mask, all),
                    {.of_largest = GetParam() == at::kDouble ? 1e-13 : 5e-6}));
}

INSTANTIATE_TEST_SUITE_P(Types, Vmap, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& named) { return named.param == at::kFloat ? "f32" : "f64"; });

}  // namespace
}  // namespace quest::testing
