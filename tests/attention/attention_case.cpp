#include "tests/attention/attention_case.h"

#include <torch/torch.h>

#include <ostream>

#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

// A tensor of these sizes whose memory is laid out as callers lay it out; not a leaf's usual dense one.
at::Tensor random_tensor(Layout layout, std::vector<std::int64_t> sizes, at::ScalarType type) {
  const auto [batch, heads, rows, dim] = std::tuple(sizes[0], sizes[1], sizes[2], sizes[3]);
  switch (layout) {
    case Layout::dense:
      return at::randn(sizes).to(type);
    case Layout::heads_inside_rows:
      return at::randn({batch, rows, heads, dim}).to(type).transpose(1, 2);
    case Layout::sliced:
      return at::randn({batch, heads, rows + 1, dim + 5}).to(type).slice(2, 1).slice(3, 2, 2 + dim);
    case Layout::broadcast:
      return at::randn({1, heads, rows, dim}).to(type).expand(sizes);
    case Layout::dim_not_dense:
      return at::randn({batch, heads, dim, rows}).to(type).transpose(2, 3);
  }
  return {};
}

at::Tensor random_gain(const AttentionCase& test) {
  const std::int64_t heads = test.shape.heads;
  const std::int64_t dim = test.shape.dim;
  const auto values = [&](std::vector<std::int64_t> sizes) {
    const at::ScalarType type = test.type == at::kDouble ? at::kDouble : at::kFloat;
    return (at::rand(sizes) * 2.0 + 0.5).to(type).requires_grad_();
  };
  switch (test.gain) {
    case GainShape::none:
      return {};
    case GainShape::scalar:
      return values({});
    case GainShape::heads:
      return values({heads});
    case GainShape::dims:
      return values({dim});
    case GainShape::heads_and_dims:
      return values({heads, dim});
    case GainShape::heads_column:
      return values({heads, 1});
    case GainShape::dims_row:
      return values({1, dim});
  }
  return {};
}

// A quarter of the pairs is hidden; where the mask has rows, the first query sees nothing.
at::Tensor random_mask(const AttentionCase& test) {
  const std::int64_t batch = test.shape.batch;
  const std::int64_t heads = test.shape.heads;
  const std::int64_t queries = test.shape.queries;
  const std::int64_t keys = test.shape.key_count();
  const auto visible = [](std::vector<std::int64_t> sizes) {
    at::Tensor mask = at::rand(sizes) < 0.75;
    if (sizes.size() > 1 && sizes[sizes.size() - 2] > 1) {
      mask.select(-2, 0).fill_(false);
    }
    return mask;
  };
  const auto additive = [&](std::vector<std::int64_t> sizes, at::ScalarType type) {
    const at::Tensor hidden = visible(sizes).logical_not();
    return at::randn(sizes).masked_fill(hidden, -std::numeric_limits<double>::infinity()).to(type).requires_grad_();
  };
  switch (test.mask) {
    case MaskShape::none:
      return {};
    case MaskShape::bool_full:
      return visible({batch, heads, queries, keys});
    case MaskShape::bool_keys:
      return visible({batch, 1, 1, keys});
    case MaskShape::additive_full:
      return additive({batch, heads, queries, keys}, test.type);
    case MaskShape::additive_heads:
      return additive({heads, queries, keys}, test.type);
    case MaskShape::additive_keys:
      return additive({keys}, test.type);
    case MaskShape::additive_float32:
      return additive({batch, 1, queries, keys}, test.type == at::kDouble ? at::kDouble : at::kFloat);
  }
  return {};
}

// The batch entries become sequences of one packed batch, the first of them half as long and one more empty.
void pack(const AttentionCase& test, AttentionInputs& inputs) {
  const auto offsets = [&](std::int64_t length) {
    std::vector<std::int64_t> result{0, length / 2, length / 2};
    for (std::int64_t b = 1; b < test.shape.batch; ++b) {
      result.push_back((b + 1) * length);
    }
    return at::tensor(result);
  };
  inputs.options.cu_seqlens_q = offsets(test.shape.queries);
  inputs.options.cu_seqlens_k = offsets(test.shape.key_count());
}

struct GradientBounds {
  Bound q, k, v, gain, mask;
};

GradientBounds gradient_bounds(const AttentionInputs& inputs, double logit_error) {
  const at::ScalarType type = inputs.q.scalar_type();
  const bool narrow = type != at::kDouble && type != at::kFloat;
  const AttentionInputs wide = in_double(inputs);
  const auto terms_of = [&](TermSource source) {
    return gradient_terms(wide.q, wide.k, wide.v, wide.grad_out, wide.options, source);
  };
  const GradientTerms all = terms_of(TermSource::everything);
  const GradientTerms through_output = narrow ? terms_of(TermSource::output) : GradientTerms{};
  const double arithmetic = type == at::kDouble ? 2.0 * unit_roundoff(at::kDouble) : kCancellation;
  const auto bound = [&](double GradientTerms::* which, at::ScalarType stored) {
    Bound result = output_bound(stored);
    result.of_largest += logit_error;
    result.absolute = arithmetic * all.*which + unit_roundoff(type) * through_output.*which;
    return result;
  };
  const auto stored_type = [&](const at::Tensor& tensor) {
    return tensor.defined() && tensor.is_floating_point() ? tensor.scalar_type() : type;
  };
  return {.q = bound(&GradientTerms::q, type),
          .k = bound(&GradientTerms::k, type),
          .v = bound(&GradientTerms::v, type),
          .gain = bound(&GradientTerms::gain, stored_type(inputs.options.gain)),
          .mask = bound(&GradientTerms::mask, stored_type(inputs.options.mask))};
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const AttentionCase& test) { return stream << test.name(); }

AttentionInputs make_inputs(const AttentionCase& test, std::uint64_t seed) {
  torch::manual_seed(seed);
  const NamedShape& shape = test.shape;
  const bool packed = test.lengths == LengthKind::packed;
  const std::int64_t batch = packed ? 1 : shape.batch;
  const std::int64_t repeat = packed ? shape.batch : 1;
  const std::int64_t queries = shape.queries * repeat;
  const std::int64_t keys = shape.key_count() * repeat;
  const auto tensor = [&](std::int64_t heads, std::int64_t rows, std::int64_t dim) {
    return random_tensor(test.layout, {batch, heads, rows, dim}, test.type);
  };
  AttentionInputs inputs;
  inputs.q = tensor(shape.heads, queries, shape.dim).requires_grad_();
  inputs.k = tensor(shape.kv_head_count(), keys, shape.dim).requires_grad_();
  inputs.v = tensor(shape.kv_head_count(), keys, shape.value_size()).requires_grad_();
  inputs.grad_out = tensor(shape.heads, queries, shape.value_size());

  AttentionOptions& options = inputs.options;
  options.formulation = test.formulation;
  options.scale = test.scale;
  options.gain = random_gain(test);
  options.mask = random_mask(test);
  options.is_causal = test.causal != CausalKind::none;
  options.causal_alignment =
      test.causal == CausalKind::lower_right ? CausalAlignment::lower_right : CausalAlignment::top_left;
  options.enable_gqa = shape.heads != shape.kv_head_count();
  options.dropout_p = test.dropout;
  options.dropout_seed = 17;
  if (test.lengths == LengthKind::key_lengths) {
    options.key_lengths = at::randint(0, keys + 1, {batch}, at::kLong);
  }
  if (packed) {
    pack(test, inputs);
  }
  return inputs;
}

AttentionInputs in_double(const AttentionInputs& inputs) {
  const auto widen = [](const at::Tensor& tensor) {
    const bool floating = tensor.defined() && tensor.is_floating_point();
    return floating ? tensor.detach().to(at::kDouble, false, true).requires_grad_(tensor.requires_grad()) : tensor;
  };
  AttentionInputs wide = inputs;
  wide.q = widen(inputs.q);
  wide.k = widen(inputs.k);
  wide.v = widen(inputs.v);
  wide.grad_out = widen(inputs.grad_out);
  wide.options.gain = widen(inputs.options.gain);
  wide.options.mask = widen(inputs.options.mask);
  return wide;
}

AttentionOutcome differentiate(const AttentionInputs& inputs, const AttentionFunction& function) {
  AttentionOutcome outcome;
  outcome.output = function(inputs.q, inputs.k, inputs.v, inputs.options);
  std::vector<at::Tensor> leaves{inputs.q, inputs.k, inputs.v};
  std::vector<at::Tensor*> targets{&outcome.grad_q, &outcome.grad_k, &outcome.grad_v};
  if (inputs.options.gain.defined() && inputs.options.gain.requires_grad()) {
    leaves.push_back(inputs.options.gain);
    targets.push_back(&outcome.grad_gain);
  }
  if (inputs.options.mask.defined() && inputs.options.mask.requires_grad()) {
    leaves.push_back(inputs.options.mask);
    targets.push_back(&outcome.grad_mask);
  }
  const std::vector<at::Tensor> gradients =
      torch::autograd::grad({outcome.output}, leaves, {inputs.grad_out}, std::nullopt, false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    *targets[i] = gradients[i];
  }
  outcome.output = outcome.output.detach();
  return outcome;
}

AttentionOutcome differentiate(const AttentionInputs& inputs, AttentionPath path) {
  return differentiate(inputs, [path](const auto& q, const auto& k, const auto& v, AttentionOptions options) {
    options.path = path;
    return attention(q, k, v, options);
  });
}

AttentionOutcome differentiate_oracle(const AttentionInputs& inputs) {
  return differentiate(in_double(inputs), [](const auto& q, const auto& k, const auto& v, const auto& options) {
    return oracle_attention(q, k, v, options).output;
  });
}

void expect_exact(const AttentionInputs& inputs, const AttentionOutcome& actual, double logit_size) {
  const AttentionOutcome expected = differentiate_oracle(inputs);
  const double logit_error = 4.0 * logit_size * unit_roundoff(at::kFloat);
  const GradientBounds bounds = gradient_bounds(inputs, logit_error);
  Bound output = output_bound(inputs.q.scalar_type());
  output.of_largest += logit_error;
  EXPECT_TRUE(close(actual.output, expected.output, output)) << "output";
  EXPECT_TRUE(close(actual.grad_q, expected.grad_q, bounds.q)) << "gradient of q";
  EXPECT_TRUE(close(actual.grad_k, expected.grad_k, bounds.k)) << "gradient of k";
  EXPECT_TRUE(close(actual.grad_v, expected.grad_v, bounds.v)) << "gradient of v";
  EXPECT_EQ(actual.grad_gain.defined(), expected.grad_gain.defined()) << "gradient of the gain";
  EXPECT_EQ(actual.grad_mask.defined(), expected.grad_mask.defined()) << "gradient of the mask";
  if (actual.grad_gain.defined() && expected.grad_gain.defined()) {
    EXPECT_TRUE(close(actual.grad_gain, expected.grad_gain, bounds.gain)) << "gradient of the gain";
  }
  if (actual.grad_mask.defined() && expected.grad_mask.defined()) {
    EXPECT_TRUE(close(actual.grad_mask, expected.grad_mask, bounds.mask)) << "gradient of the mask";
  }
}

void expect_identical(const AttentionOutcome& actual, const AttentionOutcome& expected) {
  EXPECT_TRUE(identical(actual.output, expected.output)) << "output";
  EXPECT_TRUE(identical(actual.grad_q, expected.grad_q)) << "gradient of q";
  EXPECT_TRUE(identical(actual.grad_k, expected.grad_k)) << "gradient of k";
  EXPECT_TRUE(identical(actual.grad_v, expected.grad_v)) << "gradient of v";
  if (expected.grad_gain.defined()) {
    EXPECT_TRUE(identical(actual.grad_gain, expected.grad_gain)) << "gradient of the gain";
  }
  if (expected.grad_mask.defined()) {
    EXPECT_TRUE(identical(actual.grad_mask, expected.grad_mask)) << "gradient of the mask";
  }
}

}  // namespace quest::testing
