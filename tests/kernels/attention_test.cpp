// The fused kernels against plain double loops on the same rounded inputs, for every instruction set of this machine.

#include <gtest/gtest.h>

#include "tests/kernels/instruction_sets.h"
#include "tests/kernels/kernel_case.h"
#include "tests/kernels/same.h"
#include "tests/kernels/scalar_reference.h"
#include "tests/testing/closeness.h"

namespace quest::testing {
namespace {

std::vector<double> widen(const std::vector<float>& values) { return {values.begin(), values.end()}; }

constexpr double kFloat32Error = 5e-6;

// Stored values: float32 arithmetic, then one rounding to the storage type.
Bound output_bound(StorageType type) {
  return type == StorageType::float32 ? Bound{.of_largest = kFloat32Error}
                                      : Bound{.of_largest = kFloat32Error, .of_value = 1.01 * unit_roundoff(type)};
}

// Gradients are stored like the output, but a float32 one may be the small difference of large terms.
Bound gradient_bound(StorageType type, const std::vector<double>& terms) {
  Bound bound = output_bound(type);
  bound.absolute = kCancellation * largest_magnitude(terms);
  return bound;
}

// Gradients of the gain and the mask leave the kernels in float32 whatever the storage type.
Bound wide_gradient_bound(const std::vector<double>& terms) { return gradient_bound(StorageType::float32, terms); }

void expect_outputs(const TestProblem& test, const KernelResults& actual, const ScalarResults& expected) {
  const kernels::AttentionProblem& problem = test.problem;
  const std::int64_t batch = test.stored_batch();
  const std::vector<std::int64_t> out{batch, problem.heads, problem.queries, problem.value_dim};
  EXPECT_TRUE(all_close(actual.out.values(), expected.out, output_bound(problem.type), out)) << "out";
  EXPECT_TRUE(actual.out.gaps_untouched());

  const Bound bound{.of_largest = kFloat32Error};
  const std::vector<std::int64_t> by_query{batch, problem.heads, problem.queries};
  const std::vector<std::int64_t> by_key{batch, problem.heads, problem.keys};
  EXPECT_TRUE(all_close(widen(actual.lse), expected.lse, bound, by_query)) << "lse";
  EXPECT_TRUE(all_close(widen(actual.max_logit), expected.max_logit, bound, by_query)) << "max_logit";
  EXPECT_TRUE(all_close(
      widen(actual.entropy), expected.entropy,
      {.of_largest = kFloat32Error, .absolute = kCancellation * (2.0 + largest_magnitude(expected.lse))}, by_query))
      << "entropy";
  EXPECT_TRUE(all_close(widen(actual.q_norm), expected.q_norm, bound, by_query)) << "q_norm";
  EXPECT_TRUE(all_close(widen(actual.k_norm), expected.k_norm, bound, {batch, problem.kv_heads, problem.keys}))
      << "k_norm";
  EXPECT_TRUE(all_close(widen(actual.key_mass), expected.key_mass, bound, by_key)) << "key_mass";
}

void expect_gradients(const TestProblem& test, const KernelResults& actual, const ScalarResults& expected,
                      const ScalarResults& terms) {
  const kernels::AttentionProblem& problem = test.problem;
  const std::int64_t batch = test.stored_batch();
  const std::vector<std::int64_t> q{batch, problem.heads, problem.queries, problem.dim};
  const std::vector<std::int64_t> k{batch, problem.kv_heads, problem.keys, problem.dim};
  const std::vector<std::int64_t> v{batch, problem.kv_heads, problem.keys, problem.value_dim};
  EXPECT_TRUE(all_close(actual.grad_q.values(), expected.grad_q, gradient_bound(problem.type, terms.grad_q), q))
      << "grad_q";
  EXPECT_TRUE(all_close(actual.grad_k.values(), expected.grad_k, gradient_bound(problem.type, terms.grad_k), k))
      << "grad_k";
  EXPECT_TRUE(all_close(actual.grad_v.values(), expected.grad_v, gradient_bound(problem.type, terms.grad_v), v))
      << "grad_v";
  EXPECT_TRUE(actual.grad_q.gaps_untouched());
  EXPECT_TRUE(actual.grad_k.gaps_untouched());
  EXPECT_TRUE(actual.grad_v.gaps_untouched());
  if (problem.gain != nullptr) {
    EXPECT_TRUE(all_close(widen(actual.grad_gain), expected.grad_gain, wide_gradient_bound(terms.grad_gain),
                          {problem.heads, problem.dim}))
        << "grad_gain";
  }
  if (!actual.grad_mask.empty()) {
    const Buffer& mask = test.additive_mask;
    EXPECT_TRUE(all_close(widen(actual.grad_mask), mask_gradient(test, expected.grad_logits),
                          wide_gradient_bound(mask_gradient(test, terms.grad_logits)),
                          {mask.batch(), mask.heads(), mask.rows(), problem.keys}))
        << "grad_mask";
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
         });
}

void expect_same_bits(const KernelResults& a, const KernelResults& b) {
  EXPECT_TRUE(same(a.out, b.out));
  EXPECT_TRUE(same(a.grad_q, b.grad_q));
  EXPECT_TRUE(same(a.grad_k, b.grad_k));
  EXPECT_TRUE(same(a.grad_v, b.grad_v));
  EXPECT_TRUE(same_bits(a.lse, b.lse));
  EXPECT_TRUE(same_bits(a.max_logit, b.max_logit));
  EXPECT_TRUE(same_bits(a.entropy, b.entropy));
  EXPECT_TRUE(same_bits(a.q_norm, b.q_norm));
  EXPECT_TRUE(same_bits(a.k_norm, b.k_norm));
  EXPECT_TRUE(same_bits(a.key_mass, b.key_mass));
  EXPECT_TRUE(same_bits(a.grad_gain, b.grad_gain));
  EXPECT_TRUE(same_bits(a.grad_mask, b.grad_mask));
}

class AttentionKernels : public ::testing::TestWithParam<KernelCase> {};

TEST_P(AttentionKernels, MatchScalarLoops) {
  const TestProblem test(GetParam());
  const ScalarResults exact = scalar_attention(test.problem, test.grad_out);
  const ScalarResults terms = scalar_magnitudes(test.problem, test.grad_out);
  for_each_instruction_set([&] {
    const KernelResults actual = run_kernels(test, all_at_once());
    expect_outputs(test, actual, exact);
    const bool rounded_output = test.problem.type != StorageType::float32;
    expect_gradients(test, actual, rounded_output ? scalar_attention(test.problem, test.grad_out, actual.out) : exact,
                     terms);
  });
}

std::string case_name(const ::testing::TestParamInfo<KernelCase>& info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(Pairwise, AttentionKernels, ::testing::ValuesIn(pairwise_kernel_cases()), case_name);

std::vector<KernelCase> block_crossing_cases() {
  return {
      {.queries = 197, .keys = 577, .dim = 16, .value_dim = 20, .batch = 1, .causal = kernels::Causal::lower_right},
      {.queries = 257, .keys = 197, .dim = 64, .value_dim = 64, .kv_heads = 1, .batch = 1, .gain = GainKind::head},
      {.queries = 577, .keys = 257, .dim = 32, .value_dim = 8, .batch = 1, .causal = kernels::Causal::top_left},
      {.queries = 65, .keys = 65, .dim = 200, .value_dim = 129, .batch = 1},
      {.queries = 3, .keys = 1100, .dim = 24, .value_dim = 24, .lengths = LengthKind::packed},
  };
}

INSTANTIATE_TEST_SUITE_P(BlockCrossing, AttentionKernels, ::testing::ValuesIn(block_crossing_cases()), case_name);

class TaskSplit : public ::testing::TestWithParam<KernelCase> {};

TEST_P(TaskSplit, NeverChangesABit) {
  const TestProblem test(GetParam());
  const KernelResults whole = run_kernels(test, all_at_once());
  expect_same_bits(run_kernels(test, one_by_one_backwards()), whole);
  for (const int threads : {2, 3, 7}) {
    SCOPED_TRACE(threads);
    expect_same_bits(run_kernels(test, over_threads(threads)), whole);
  }
}

std::vector<KernelCase> split_cases() {
  return {
      {.queries = 197, .keys = 65, .dim = 20, .value_dim = 20, .kv_heads = 1, .gain = GainKind::head_and_dim},
      {.queries = 65, .keys = 197, .dim = 40, .value_dim = 8, .mask = MaskKind::additive_row, .dropout = 0.25F},
      {.queries = 63, .keys = 63, .dim = 16, .value_dim = 16, .mask = MaskKind::additive_stored},
      {.queries = 257, .keys = 257, .dim = 16, .value_dim = 16, .batch = 1, .causal = kernels::Causal::top_left},
      {.queries = 65,
       .keys = 33,
       .dim = 64,
       .value_dim = 64,
       .type = StorageType::bfloat16,
       .gain = GainKind::dim,
       .lengths = LengthKind::packed},
      {.queries = 17,
       .keys = 63,
       .dim = 100,
       .value_dim = 5,
       .type = StorageType::float16,
       .normalize_q = true,
       .gain = GainKind::scalar,
       .lengths = LengthKind::key_lengths,
       .layout = Layout::heads_inside_rows},
  };
}

INSTANTIATE_TEST_SUITE_P(Threads, TaskSplit, ::testing::ValuesIn(split_cases()), case_name);

}  // namespace
}  // namespace quest::testing
