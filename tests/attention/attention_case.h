#pragma once

// One call of attention as a handful of choices: its name, its inputs, its results and gradients.

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "bench/shapes.h"
#include "quest/attention.h"

namespace quest::testing {

using bench::NamedShape;

enum class GainShape { none, scalar, heads, dims, heads_and_dims, heads_column, dims_row };
enum class MaskShape { none, bool_full, bool_keys, additive_full, additive_heads, additive_keys, additive_float32 };
enum class CausalKind { none, top_left, lower_right };
enum class LengthKind { none, key_lengths, packed };
enum class Layout { dense, heads_inside_rows, sliced, broadcast, dim_not_dense };

struct AttentionCase {
  NamedShape shape;
  Formulation formulation = formulations::quest;
  GainShape gain = GainShape::none;
  MaskShape mask = MaskShape::none;
  CausalKind causal = CausalKind::none;
  LengthKind lengths = LengthKind::none;
  double dropout = 0.0;
  at::ScalarType type = at::kFloat;
  Layout layout = Layout::dense;
  std::optional<double> scale;

  [[nodiscard]] std::string name() const;
};
std::ostream& operator<<(std::ostream& stream, const AttentionCase& test);

// For INSTANTIATE_TEST_SUITE_P.
template <typename Info>
std::string case_name(const Info& info) {
  return info.param.name();
}

struct AttentionInputs {
  at::Tensor q, k, v, grad_out;
  AttentionOptions options;
};

// The same tensors for the same case and seed; a gain and an additive mask ask for their gradient.
AttentionInputs make_inputs(const AttentionCase& test, std::uint64_t seed = 1);

// Fresh leaves with the same values in float64.
AttentionInputs in_double(const AttentionInputs& inputs);

struct AttentionOutcome {
  at::Tensor output, grad_q, grad_k, grad_v;
  at::Tensor grad_gain, grad_mask;  // undefined where there is none
};

using AttentionFunction =
    std::function<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const AttentionOptions&)>;

AttentionOutcome differentiate(const AttentionInputs& inputs, const AttentionFunction& function);
AttentionOutcome differentiate(const AttentionInputs& inputs, AttentionPath path);
AttentionOutcome differentiate_oracle(const AttentionInputs& inputs);

// The output within output_bound() of the plain formula in float64. The gradients too, and where their terms cancel
// within two float32 roundings of those terms; narrow types also feel the rounding of the stored output.
// One rounding of a logit of size L is a relative error of L · 2⁻²⁴ in its weight: `logit_size` where that is large.
void expect_exact(const AttentionInputs& inputs, const AttentionOutcome& actual, double logit_size = 0.0);

void expect_identical(const AttentionOutcome& actual, const AttentionOutcome& expected);

// Sanitizers slow every case down: QUEST_TEST_SET=smoke in the environment keeps each fourth.
std::vector<AttentionCase> of_test_set(std::vector<AttentionCase> cases);

// Every legal pair of choices at small odd sizes.
std::vector<AttentionCase> pairwise_attention_cases();

// The shapes of the benchmark and the odd ones, with fewer batches and heads than they are timed with.
std::vector<AttentionCase> shape_attention_cases();

}  // namespace quest::testing
